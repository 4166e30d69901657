//! Compares the npm package with other clients, on servers that limit as real providers do:
//! builds the servers, installs the clients and runs the program.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::npm;
use crate::programs;
use crate::progress::step;
use crate::workspace::root;

/// Messages go to stderr: stdout is for the rows or the page.
pub fn run(args: Vec<OsString>) -> Result<()> {
    if !args.iter().any(|arg| arg == "--help" || arg == "-h") {
        npm::package()?;
        install()?;
    }
    let mut bench = Command::new("node");
    programs::tell(bench.arg(folder().join("bench.mjs")).args(args));
    Err(bench.exec()).context("node does not start")
}

/// Builds the servers, and installs the other packages.
pub fn install() -> Result<()> {
    step("building tools/live", programs::live())?;
    npm::install("tidegate-providers-bench")
}

/// The program's folder.
pub fn folder() -> PathBuf {
    root().join("tools/bench/providers")
}
