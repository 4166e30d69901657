//! Paths and files, and which cargo and rustc are in use.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;
use std::{env, fs};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::progress::step;
use crate::setup::aside;

pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

pub fn metadata() -> Result<Value> {
    let output = cargo("metadata").args(["--no-deps", "--format-version", "1"]).output()?;
    serde_json::from_slice(&output.stdout).context("cargo metadata")
}

pub fn core() -> Result<Value> {
    let mut metadata = metadata()?;
    let mut packages = metadata["packages"].as_array_mut().into_iter().flatten();
    let core = packages.find(|package| package["name"] == "tidegate");
    Ok(core.context("cargo metadata knows no crate tidegate")?.take())
}

/// The active toolchain's cargo.
pub fn program() -> OsString {
    // `cargo run` names itself in CARGO; a binary started by hand finds cargo on the PATH.
    env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

pub fn cargo(verb: &str) -> Command {
    let mut command = Command::new(program());
    command.arg(verb).current_dir(root());
    command
}

/// The active toolchain's rustc, in the workspace's folder.
pub fn rustc() -> Command {
    let mut command = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    command.current_dir(root());
    command
}

pub fn on_path(program: &str) -> bool {
    installed(program).is_some()
}

/// The path of an installed or unpacked program.
pub fn installed(program: &str) -> Option<PathBuf> {
    folders().into_iter().map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// Where programs are. Services are in a folder that a user's PATH may lack.
fn folders() -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).chain(["/usr/sbin".into(), aside::bin()]).collect()
}

/// Lets a command find programs in `first`, and in all the other folders.
pub fn find_in(first: PathBuf, command: &mut Command) -> Result<&mut Command> {
    let path = env::join_paths([first].into_iter().chain(folders())).context("PATH")?;
    Ok(command.env("PATH", path))
}

pub fn empty(folder: PathBuf) -> Result<PathBuf> {
    _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    Ok(folder)
}

/// Copies a folder and everything in it.
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    let mut copy = Command::new("cp");
    copy.arg("-R").arg(from).arg(to);
    step("cp", copy).map(drop)
}

/// Whether a file is newer than all of these.
pub fn is_newer(made: &Path, sources: &[&str]) -> bool {
    let Some(made) = newest(made) else { return false };
    sources.iter().all(|source| newest(&root().join(source)).is_some_and(|latest| latest < made))
}

/// When a file, or the last of those in a folder, was changed; `None` if it is not there.
fn newest(path: &Path) -> Option<SystemTime> {
    let changed = path.metadata().and_then(|data| data.modified()).ok();
    let inside = fs::read_dir(path).into_iter().flatten().flatten();
    inside.map(|entry| newest(&entry.path())).fold(changed, Option::max)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_output_is_outdated_when_a_file_in_its_sources_changes() {
        let folder = env::temp_dir().join(format!("tidegate-newer-{}", std::process::id()));
        let folder = empty(folder.join("from/deep")).map(|_| folder).unwrap();
        let write = |name: &str, seconds: u64| {
            let time = SystemTime::now() + Duration::from_secs(seconds);
            File::create(folder.join(name)).unwrap().set_modified(time).unwrap();
        };
        let (made, sources) = (folder.join("made"), folder.join("from"));
        let sources = sources.to_str().unwrap();
        assert!(!is_newer(&made, &[sources]), "it is not there");
        write("made", 60);
        for (seconds, newer) in [(30, true), (90, false)] {
            write("from/deep/source", seconds);
            assert_eq!(is_newer(&made, &[sources]), newer, "changed after {seconds} s");
        }
        fs::remove_dir_all(folder).unwrap();
    }
}
