//! `cargo xtask demo`: builds the live demo and becomes it.

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use crate::progress;
use crate::workspace::{cargo, root};

const PROGRAM: [&str; 5] = ["--release", "--package", "tidegate-live", "--bin", "tidegate-live"];

/// Everything said here goes to stderr: stdout belongs to the demo.
pub fn run(args: Vec<OsString>) -> Result<ExitCode> {
    eprintln!("Building tests/live (the first time takes a minute or two) …");
    let mut build = cargo("build");
    build.args(PROGRAM);
    let ended = progress::run("building", build, None).context("cargo does not start")?;
    if !ended.success() {
        std::io::stderr().write_all(ended.output.as_bytes())?;
        bail!("tests/live does not build.");
    }

    // `cargo run` becomes the program it runs, as we become `cargo run`: signals and the exit
    // status are the demo's own.
    let mut demo = cargo("run");
    demo.arg("--quiet").args(PROGRAM).arg("--manifest-path").arg(root().join("Cargo.toml"));
    demo.args(["--", "demo"]).args(args);
    // Relative paths among the arguments are meant from where the user stands.
    demo.current_dir(std::env::current_dir()?);
    Err(demo.exec()).context("the demo does not start")
}
