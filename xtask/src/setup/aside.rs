//! Debian packages that are unpacked below the target folder and not installed.
//!
//! For emulators and brokers: an installed broker would start as a service, an installed emulator
//! may conflict with other packages, and unpacking needs no root.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::apt;
use crate::progress;
use crate::workspace::{installed, on_path, root};

/// Where the unpacked programs are.
const PROGRAMS: [&str; 2] = ["usr/bin", "usr/sbin"];
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
    if !on_path("apt-get") || !on_path("dpkg-deb") {
        bail!("this machine has no apt-get");
    }
    let unfinished = folder().join(UNFINISHED);
    let (downloads, root) = (unfinished.join("packages"), unfinished.join("root"));
    _ = fs::remove_dir_all(&unfinished);
    for empty in [&downloads, &root] {
        fs::create_dir_all(empty).with_context(|| empty.display().to_string())?;
    }
    // The lists may be missing or outdated.
    if download(packages, &downloads).is_err() {
        apt::update()?;
        download(packages, &downloads)?;
    }
    for package in downloads.read_dir()?.flatten().map(|entry| entry.path()) {
        let mut unpack = Command::new("dpkg-deb");
        unpack.arg("--extract").arg(&package).arg(&root);
        let ended = progress::run("unpacking", unpack, None)?;
        if !ended.success() {
            bail!("{} cannot be unpacked: {}", package.display(), ended.reason());
        }
    }
    // Renamed last, so that a folder with this name is complete.
    let whole = folder().join(packages.join("+"));
    _ = fs::remove_dir_all(&whole);
    fs::rename(&root, &whole).with_context(|| whole.display().to_string())?;
    Ok(fs::remove_dir_all(&unfinished)?)
}

fn download(packages: &[&str], into: &Path) -> Result<()> {
    let mut download = Command::new("apt-get");
    download.arg("download").args(needed(packages)?).current_dir(into);
    let ended = progress::run("apt-get download", download, None)?;
    if !ended.success() {
        bail!("`apt-get download` failed: {}", ended.reason());
    }
    Ok(())
}

/// What installing `packages` would install.
fn needed(packages: &[&str]) -> Result<Vec<String>> {
    let mut plan = Command::new("apt-get");
    plan.args(["install", "--simulate", "--no-install-recommends"]).args(packages);
    let output = plan.stderr(Stdio::piped()).output().context("apt-get does not start")?;
    if !output.status.success() {
        bail!("apt-get does not know {}", packages.join(" "));
    }
    Ok(names(&String::from_utf8_lossy(&output.stdout)))
}

/// The packages of a plan: `Inst NAME (VERSION …)`.
fn names(plan: &str) -> Vec<String> {
    let names = plan.lines().filter_map(|line| line.strip_prefix("Inst ")?.split(' ').next());
    names.map(str::to_owned).collect()
}

fn folder() -> PathBuf {
    root().join("target/aside")
}

/// The unpacked folders. Each contains the packages of one setup with their dependencies.
fn roots() -> impl Iterator<Item = PathBuf> {
    let entries = folder().read_dir().into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| !path.ends_with(UNFINISHED))
}

/// The program and the folder with its dependencies.
fn find(program: &str) -> Option<(PathBuf, PathBuf)> {
    roots().find_map(|root| {
        let mut places = PROGRAMS.iter().map(|place| root.join(place).join(program));
        let path = places.find(|path| path.is_file())?;
        Some((root, path))
    })
}

/// All library folders, in the format of the dynamic linker.
fn libraries(root: &Path) -> std::ffi::OsString {
    let mut folders = Vec::new();
    for place in ["usr/lib", "lib"] {
        let place = root.join(place);
        let machines = place.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
        folders.extend(machines.filter(|path| is_of_a_machine(path)));
        folders.push(place);
    }
    env::join_paths(folders).unwrap_or_default()
}

/// Such as `x86_64-linux-gnu`.
fn is_of_a_machine(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().contains("-linux-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_of_the_machine_is_called_by_its_whole_path() {
        let program = command("sh");
        assert!(Path::new(program.get_program()).is_absolute(), "{program:?}");
    }

    #[test]
    fn a_plan_lists_packages_to_install_but_not_to_remove() {
        let plan = "\
Reading package lists...
Remv qemu-utils [1:10.0.2]
Inst libfdt1 (1.6.1-4 Debian:12.15/oldstable [amd64])
Inst qemu-system-arm (1:7.2 Debian:12.15/oldstable [amd64])
Conf libfdt1 (1.6.1-4 Debian:12.15/oldstable [amd64])
";
        assert_eq!(names(plan), ["libfdt1", "qemu-system-arm"]);
    }
}
