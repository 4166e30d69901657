//! Targets and components of Rust.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use super::need;
use crate::progress::step_within;
use crate::workspace::{self, root};

/// A download that takes longer counts as failed.
const LIMIT: Duration = Duration::from_secs(150);

/// `cargo VERB --target TARGET`, to run in `folder`. Adds the target if it is missing.
pub fn cargo(verb: &str, target: &str, folder: &Path) -> Result<Command> {
    need(&[target])?;
    let mut command = workspace::cargo(verb);
    command.args(["--target", target]).current_dir(folder);
    Ok(command)
}

/// Such as `rustup target add TARGET`. The error gives the reason.
pub fn rustup(args: &[&str]) -> Result<()> {
    let mut command = Command::new("rustup");
    command.args(args).current_dir(root());
    step_within(LIMIT, "rustup", command).map(drop)
}

/// Whether the toolchain has the subcommand of a component.
pub fn has_verb(verb: &str) -> bool {
    let output = workspace::cargo(verb).arg("--version").output();
    output.is_ok_and(|output| output.status.success())
}

/// Whether the active toolchain has a target's core library. Its folder may exist and be empty.
pub fn has_target(target: &str) -> bool {
    let mut command = workspace::rustc();
    command.args(["--print", "target-libdir", "--target", target]);
    let Ok(output) = command.output() else { return false };
    let folder = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    let mut entries = folder.read_dir().into_iter().flatten().flatten();
    entries.any(|entry| entry.file_name().to_string_lossy().starts_with("libcore-"))
}
