//! The web page in a real browser, against real servers on this machine.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result};

use crate::tally::{Outcome, Tally};
use crate::workspace::cargo;
use crate::{page, programs, setup};

pub fn run(tally: &mut Tally) {
    let built = tally.verdict("build", page::build);
    tally.verdict("the browser", || setup::need(&["chromium"]));
    tally.verdict("the programs", programs::build);
    if built.is_none() {
        return;
    }
    // Compares the figures of the laboratory's module with those of the native simulator.
    let mut simulator = cargo("test");
    simulator.args(["--package", "tidegate-sim", "--test", "wasm", "--", "--ignored"]);
    simulator.env("TIDEGATE_SIM_WASM", page::module("lab"));
    tally.tests("the simulator", simulator);
    let files = tally.verdict("the tests", files).into_iter().flatten();
    let run = |file: &str| Outcome::command(file, node(file));
    tally.at_once(2, files.map(|file| (file, run)).collect());
}

/// Runs a script of the page's tests in `node`.
pub fn program() -> Command {
    let mut command = Command::new("node");
    command.current_dir(page::folder().join("test"));
    programs::tell(&mut command);
    command
}

/// The slowest file: it turns every control of the laboratory.
const LONGEST: &str = "lab";

/// The names of the test files without the common suffix. Each file is one check.
fn files() -> Result<Vec<String>> {
    let folder = page::folder().join("test");
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        names.extend(name.strip_suffix(".test.mjs").map(str::to_owned));
    }
    names.sort();
    // The slowest file starts first.
    names.sort_by_key(|name| name != LONGEST);
    Ok(names)
}

fn node(file: &str) -> Command {
    let mut command = program();
    // One test at a time, because tests render the page and measure the rates of real servers.
    command.args(["--test", "--test-concurrency=1", "--test-reporter=spec"]);
    command.arg("--test-timeout=1800000").arg(format!("{file}.test.mjs"));
    command
}
