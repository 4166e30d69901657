//! Compares the npm package with other clients, on servers that limit as real providers do:
//! installs them and runs the program.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::npm;
use crate::test::wasm;
use crate::workspace::root;

/// Messages go to stderr: stdout is for the rows or the page.
pub fn run(args: Vec<OsString>) -> Result<()> {
    if !args.iter().any(|arg| arg == "--help" || arg == "-h") {
        npm::package()?;
        wasm::install(&folder())?;
    }
    let mut bench = Command::new("node");
    bench.arg(folder().join("bench.mjs")).args(args);
    Err(bench.exec()).context("node does not start")
}

/// A separate npm package.
pub fn folder() -> PathBuf {
    root().join("tools/bench/providers")
}
