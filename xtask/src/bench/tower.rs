//! Compares tidegate-tower with other limiters and retries: builds tools/bench/tower and runs it.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use super::publish;
use crate::npm::step;
use crate::workspace::{cargo, root};

pub fn run(json: bool) -> Result<()> {
    let mut build = cargo("build");
    build.args(["--release", "--locked"]).current_dir(folder());
    build.arg("--target-dir").arg(folder().join("target"));
    step("building tools/bench/tower", build)?;
    let file = root().join("target/tower-bench");
    let mut bench = Command::new(folder().join("target/release/tidegate-tower-bench"));
    bench.arg(&file).args(json.then_some("--json"));
    step("ten servers, four clients, about four minutes", bench)?;
    let figures = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    match json {
        true => print!("{figures}"),
        false => publish("tower.md", &figures)?,
    }
    Ok(())
}

/// A separate workspace.
pub fn folder() -> PathBuf {
    root().join("tools/bench/tower")
}
