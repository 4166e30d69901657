//! The Rust tests that run on this machine, from one build: what the crates have in common is compiled once.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, ensure};
use serde_json::Value;

use crate::programs;
use crate::progress::step;
use crate::tally::{Outcome, Tally};
use crate::workspace::cargo;

/// How many test programs run at a time. Some wait for real servers and clocks.
const LANES: usize = 3;
/// The crates whose tests wait longest; they start first.
const WAITING: [&str; 2] = ["tower", "tools/live"];

/// Every crate, with all features.
pub fn run(tally: &mut Tally) {
    // First, because other parts wait for them.
    tally.verdict("the programs", programs::build);
    tests(&["--all-features"], tally);
}

/// Core, the crate for embassy, and xtask.
pub fn quick(tally: &mut Tally) {
    let packages = ["--package", "tidegate", "--package", "tidegate-embassy", "--package", "xtask"];
    let embassy = "tidegate-embassy/sleep,tidegate-embassy/stats";
    let features = format!("tidegate/keyed,tidegate/rand_core,tidegate/shared,{embassy}");
    let features = ["--features", &features];
    tests(&[&packages[..], &features].concat(), tally);
}

fn tests(selected: &[&str], tally: &mut Tally) {
    let programs = tally.verdict("build", || build(selected)).into_iter().flatten();
    let jobs =
        programs.map(|(name, program)| (name, move |name: &str| Outcome::tests(name, program)));
    tally.at_once(LANES, jobs.collect());
    let mut examples = cargo("test");
    examples.arg("--doc").args(selected);
    tally.tests("examples of the documentation", examples);
}

/// Builds all test programs, and returns them by name.
fn build(selected: &[&str]) -> Result<Vec<(String, Command)>> {
    let mut build = cargo("test");
    build.args(["--no-run", "--message-format=json-render-diagnostics"]).args(selected);
    let output = step("building", build)?;
    let messages = output.lines().filter_map(|line| serde_json::from_str(line).ok());
    let mut programs: Vec<_> = messages.filter_map(|message| program(&message)).collect();
    ensure!(!programs.is_empty(), "cargo has built no tests");
    programs.sort_by_key(|(name, _)| !WAITING.iter().any(|folder| name.starts_with(folder)));
    Ok(programs)
}

/// The test program that a message of cargo announces. It runs in its package's folder, as `cargo test` runs it.
fn program(message: &Value) -> Option<(String, Command)> {
    let program = message["executable"].as_str().filter(|_| message["profile"]["test"] == true)?;
    let manifest = PathBuf::from(message["manifest_path"].as_str()?);
    let folder = manifest.parent()?;
    let mut command = Command::new(program);
    command.current_dir(folder).env("CARGO_MANIFEST_DIR", folder);
    let folder = folder.strip_prefix(crate::workspace::root()).unwrap_or(folder);
    Some((format!("{} {}", folder.display(), message["target"]["name"].as_str()?), command))
}
