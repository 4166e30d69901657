//! Compares the control of all laws: builds tools/bench/control and runs it.

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::process::CommandExt;

use anyhow::{Context, Result, bail};

use crate::progress;
use crate::workspace::{cargo, root};

const PROGRAM: [&str; 4] = ["--profile", "thorough", "--package", "tidegate-control"];

/// Messages go to stderr: stdout is for the rows or the page.
pub fn run(args: Vec<OsString>) -> Result<()> {
    let mut build = cargo("build");
    build.args(PROGRAM);
    let ended = progress::run("building tools/bench/control", build, None)?;
    if !ended.success() {
        std::io::stderr().write_all(ended.output.as_bytes())?;
        bail!("tools/bench/control does not build.");
    }
    // `exec` through `cargo run`, so that signals and the exit status are the program's own.
    let mut program = cargo("run");
    program.arg("--quiet").args(PROGRAM).arg("--manifest-path").arg(root().join("Cargo.toml"));
    program.arg("--").args(args).current_dir(std::env::current_dir()?);
    Err(program.exec()).context("tools/bench/control does not start")
}
