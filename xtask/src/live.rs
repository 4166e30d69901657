//! tools/live, the program of the demo. Tests that need a real server start it too.
//!
//! Built in the profile of this very tool, with which it shares half of its dependencies: a minute sooner
//! than optimised, for a fleet of a thousand calls a second that takes a quarter of a processor.

use std::path::PathBuf;
use std::process::Command;

use crate::workspace::cargo;

/// Builds it.
pub fn build() -> Command {
    let mut build = cargo("build");
    build.args(["--package", "tidegate-live"]);
    build
}

/// Where it is then: beside this tool.
pub fn program() -> PathBuf {
    let here = std::env::current_exe().unwrap_or_default();
    here.with_file_name("tidegate-live")
}
