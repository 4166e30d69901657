//! Debian packages that are unpacked below the target folder and not installed.
//!
//! For emulators and brokers: an installed broker would start as a service, an installed emulator
//! may conflict with other packages, and unpacking needs no root.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::apt_get;
use crate::progress::brief;
use crate::workspace::{empty, installed, on_path, root};

/// Where packages are until all are unpacked, so that an interrupted setup starts again.
const UNFINISHED: &str = "unfinished";

/// Whether a program of this name has been unpacked.
pub fn holds(program: &str) -> bool {
    find(program).is_some()
}

/// The machine's own program if there is one, else the unpacked one.
pub fn command(program: &str) -> Command {
    if let Some(path) = installed(program) {
        return Command::new(path);
    }
    let Some((root, path)) = find(program) else { return Command::new(program) };
    let mut command = Command::new(path);
    command.env("LD_LIBRARY_PATH", libraries(&root));
    command
}

/// Where QEMU finds its other files, if it was unpacked. An installed one knows its own.
pub fn data(program: &str, of: &str) -> Option<PathBuf> {
    let (root, _) = find(program).filter(|_| !on_path(program))?;
    Some(root.join("usr/share").join(of)).filter(|folder| folder.is_dir())
}

/// Downloads and unpacks these packages and their missing dependencies.
pub fn bring(packages: &[&str]) -> Result<()> {
    ensure!(on_path("apt-get") && on_path("dpkg-deb"), "this machine has no apt-get");
    let unfinished = empty(folder().join(UNFINISHED))?;
    let (downloads, root) = (empty(unfinished.join("packages"))?, unfinished.join("root"));
    // The package lists may be missing or outdated.
    if download(packages, &downloads).is_err() {
        apt_get(&["update"])?;
        download(packages, &downloads)?;
    }
    for package in downloads.read_dir()?.flatten().map(|entry| entry.path()) {
        let mut unpack = Command::new("dpkg-deb");
        unpack.arg("--extract").arg(&package).arg(&root);
        brief("dpkg-deb", unpack, None).with_context(|| package.display().to_string())?;
    }
    // Renamed last, so that a folder with this name is complete.
    let whole = folder().join(packages.join("+"));
    _ = fs::remove_dir_all(&whole);
    fs::rename(&root, &whole).with_context(|| whole.display().to_string())?;
    Ok(fs::remove_dir_all(&unfinished)?)
}

/// Downloads what installing `packages` would install.
fn download(packages: &[&str], into: &Path) -> Result<()> {
    let mut plan = Command::new("apt-get");
    plan.args(["install", "--simulate", "--no-install-recommends"]).args(packages);
    let output = plan.stderr(Stdio::piped()).output().context("apt-get does not start")?;
    ensure!(output.status.success(), "apt-get does not know {}", packages.join(" "));
    let plan = String::from_utf8_lossy(&output.stdout);
    // `Inst NAME (VERSION …)`
    let names = plan.lines().filter_map(|line| line.strip_prefix("Inst ")?.split(' ').next());
    let mut download = Command::new("apt-get");
    download.arg("download").args(names).current_dir(into);
    brief("apt-get download", download, None)
}

fn folder() -> PathBuf {
    root().join("target/aside")
}

/// The folder of the packages of one setup with their dependencies, and the program in it.
fn find(program: &str) -> Option<(PathBuf, PathBuf)> {
    let entries = folder().read_dir().ok()?.flatten().map(|entry| entry.path());
    entries.filter(|root| !root.ends_with(UNFINISHED)).find_map(|root| {
        let mut places =
            ["usr/bin", "usr/sbin"].map(|place| root.join(place).join(program)).into_iter();
        let path = places.find(|path| path.is_file())?;
        Some((root, path))
    })
}

/// All library folders, in the format of the dynamic linker.
fn libraries(root: &Path) -> OsString {
    let places = ["usr/lib", "lib"].map(|place| root.join(place));
    let inside = places.iter().flat_map(|place| place.read_dir().into_iter().flatten().flatten());
    // Such as `x86_64-linux-gnu`.
    let machines = inside.filter(|entry| entry.file_name().to_string_lossy().contains("-linux-"));
    let machines: Vec<PathBuf> = machines.map(|entry| entry.path()).collect();
    env::join_paths(machines.iter().chain(&places)).unwrap_or_default()
}
