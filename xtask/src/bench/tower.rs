//! Compares tidegate-tower with other limiters and retries: builds tools/bench/tower and runs it.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result};

use super::publish;
use crate::progress::step;
use crate::workspace::{cargo, root};

pub fn run(json: bool) -> Result<()> {
    let target = root().join("target");
    let mut build = cargo("build");
    build.args(["--release", "--package", "tidegate-tower-bench", "--target-dir"]).arg(&target);
    step("building tools/bench/tower", build)?;
    let file = target.join("tower-bench");
    let mut bench = Command::new(target.join("release/tidegate-tower-bench"));
    bench.arg(&file).args(json.then_some("--json"));
    step("ten servers, four clients, about four minutes", bench)?;
    let figures = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    match json {
        true => print!("{figures}"),
        false => publish("tower.md", &figures)?,
    }
    Ok(())
}
