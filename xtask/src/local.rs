//! tests/local, a Rust process for the fleet that shares a budget on one machine.

use std::path::PathBuf;
use std::process::Command;

use crate::workspace::cargo;

pub fn build() -> Command {
    let mut build = cargo("build");
    build.args(["--package", "tidegate-local-member"]);
    build
}

/// Passes its path, beside this program, to a test.
pub fn tell(test: &mut Command) {
    let here: PathBuf = std::env::current_exe().unwrap_or_default();
    test.env("TIDEGATE_LOCAL_MEMBER", here.with_file_name("tidegate-local-member"));
}
