//! The web page in a real browser, against real servers on this machine.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result};

use super::cargo_test;
use crate::tally::Tally;
use crate::{page, programs, setup};

pub fn run(tally: &mut Tally) {
    let mut built = false;
    tally.verdict("build", || {
        page::build()?;
        built = true;
        Ok(())
    });
    tally.verdict("the browser", || setup::need(&["chromium"]));
    tally.verdict("the programs", programs::build);
    if !built {
        return;
    }
    tally.tests("the simulator", simulator());
    match files() {
        Ok(files) => tally.checks(
            2,
            files.into_iter().map(|file| {
                let command = node(&file);
                (file, command)
            }),
        ),
        Err(error) => tally.verdict("the tests", || Err(error)),
    }
}

/// Compares the figures of the laboratory's module with those of the native simulator.
fn simulator() -> Command {
    let mut command = cargo_test("tidegate-sim", &["--test", "wasm"]);
    command.args(["--", "--ignored"]).env("TIDEGATE_SIM_WASM", page::module("lab"));
    command
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
    command.args([
        "--test",
        "--test-concurrency=1",
        "--test-reporter=spec",
        "--test-timeout=1800000",
    ]);
    command.arg(format!("{file}.test.mjs"));
    command
}
