//! Measures laws in random worlds: builds tidegate-sim and runs it.

use std::os::unix::process::CommandExt;

use anyhow::{Context, Result};

use crate::progress::step;
use crate::workspace::{cargo, root};

const PROGRAM: [&str; 4] = ["--profile", "thorough", "--package", "tidegate-sim"];

/// `adaptive` first, then its peers.
const LAWS: &str = "adaptive,aimd,heroku-proportional,aws-cubic,backoff,none,oracle";

/// Messages go to stderr: stdout is for the rows or the tables.
pub fn run(seed: u64, worlds: Option<u32>, json: bool) -> Result<()> {
    let mut build = cargo("build");
    build.args(PROGRAM);
    step("building tidegate-sim", build)?;
    // `exec` through `cargo run`, so that signals and the exit status are the program's own.
    let mut program = cargo("run");
    program.arg("--quiet").args(PROGRAM).arg("--manifest-path").arg(root().join("Cargo.toml"));
    program.args(["--", "worlds", "--law", LAWS, "--seed", &seed.to_string()]);
    if let Some(worlds) = worlds {
        program.args(["--worlds", &worlds.to_string()]);
    }
    if json {
        program.arg("--json");
    } else if worlds.is_none() {
        program.arg("--out").arg(root().join("tests/golden"));
        eprintln!("worlds.md and worlds.svg go to tests/golden");
    }
    Err(program.exec()).context("tidegate-sim does not start")
}
