//! tools/live, the program of the demo. Tests that need a real server use it too.
//!
//! It is built in xtask's own profile and shares half of its dependencies. That is a minute faster
//! than an optimised build, and a fleet of a thousand calls a second uses only a quarter of a
//! processor.

use std::path::PathBuf;
use std::process::Command;

use crate::workspace::cargo;

pub fn build() -> Command {
    let mut build = cargo("build");
    build.args(["--package", "tidegate-live"]);
    build
}

/// The path of the program: beside this one.
pub fn program() -> PathBuf {
    let here = std::env::current_exe().unwrap_or_default();
    here.with_file_name("tidegate-live")
}
