//! Debian packages that are unpacked below the target folder and not installed.
//!
//! For emulators and brokers: an installed broker would start as a service, an installed emulator
//! may conflict with other packages, and unpacking needs no root.

use std::env;
use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::apt_get;
use crate::progress::step;
use crate::workspace::{empty, on_path, root};

/// Where packages are until all are unpacked, so that an interrupted setup starts again.
const UNFINISHED: &str = "unfinished";

/// Where the scripts are that start the unpacked programs, by the programs' names.
pub fn bin() -> PathBuf {
    folder().join("bin")
}

/// Downloads and unpacks these packages and their missing dependencies, and makes their programs available.
pub fn bring(packages: &[&str], programs: &[&str]) -> Result<()> {
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
        step("dpkg-deb", unpack).with_context(|| package.display().to_string())?;
    }
    // Renamed last, so that a folder with this name is complete.
    let whole = folder().join(packages.join("+"));
    _ = fs::remove_dir_all(&whole);
    fs::rename(&root, &whole).with_context(|| whole.display().to_string())?;
    fs::remove_dir_all(&unfinished)?;
    programs.iter().try_for_each(|program| link(program, &whole))
}

/// Writes the script that starts a program with its libraries.
fn link(program: &str, root: &Path) -> Result<()> {
    let mut places =
        ["usr/bin", "usr/sbin"].map(|place| root.join(place).join(program)).into_iter();
    let path = places.find(|path| path.is_file()).with_context(|| format!("no {program}"))?;
    // QEMU's other files.
    let data = root.join("usr/share/qemu");
    let data = if data.is_dir() { format!("-L '{}'", data.display()) } else { String::new() };
    let script = format!(
        "#!/bin/sh\nLD_LIBRARY_PATH='{}' exec '{}' {data} \"$@\"\n",
        libraries(root).display(),
        path.display()
    );
    fs::create_dir_all(bin())?;
    fs::write(bin().join(program), script)?;
    Ok(fs::set_permissions(bin().join(program), Permissions::from_mode(0o755))?)
}

/// Downloads what installing `packages` would install.
fn download(packages: &[&str], into: &Path) -> Result<()> {
    let mut plan = Command::new("apt-get");
    plan.args(["install", "--simulate", "--no-install-recommends"]).args(packages);
    let output = plan.stderr(Stdio::piped()).output().context("cannot start apt-get")?;
    ensure!(output.status.success(), "apt-get does not know {}", packages.join(" "));
    let plan = String::from_utf8_lossy(&output.stdout);
    // `Inst NAME (VERSION …)`
    let names = plan.lines().filter_map(|line| line.strip_prefix("Inst ")?.split(' ').next());
    let mut download = Command::new("apt-get");
    download.arg("download").args(names).current_dir(into);
    step("apt-get download", download).map(drop)
}

fn folder() -> PathBuf {
    root().join("target/aside")
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
