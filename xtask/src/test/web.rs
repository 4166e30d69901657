//! The web page, built and then used in a real browser, against the real servers of this machine.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result};

use crate::road::Roads;
use crate::tally::Tally;
use crate::workspace::{cargo, root};
use crate::{live, page, setup};

pub fn run(roads: &mut Roads, tally: &mut Tally) {
    let mut built = false;
    tally.verdict("build", || {
        page::build(roads)?;
        built = true;
        Ok(())
    });
    tally.verdict("the browser", || setup::missing_tool("chromium"));
    tally.check("the server", live::build());
    tally.check("the simulator", simulator());
    if !built {
        return;
    }
    match files() {
        Ok(files) => tally.checks(files.into_iter().map(|file| {
            let command = node(&file);
            (file, command)
        })),
        Err(error) => tally.verdict("the tests", || Err(error)),
    }
}

/// The simulator that the laboratory is held against, where the tests look for it.
fn simulator() -> Command {
    let mut command = cargo("build");
    command.args(["--release", "--package", "tidegate-sim", "--target-dir"]);
    command.arg(root().join("target"));
    command
}

/// `node` before a script of the page's tests, told where the programs are that the page is held against.
pub fn program() -> Command {
    let mut command = Command::new("node");
    command.current_dir(page::folder().join("test"));
    command.env("TIDEGATE_LIVE", live::program());
    command.env("TIDEGATE_SIM", root().join("target/release/tidegate-sim"));
    command
}

/// The laboratory's, whose figures are computed as often by the page as by the simulator.
const LONGEST: &str = "lab";

/// The names of the files of tests, without what they all end in; each is one check.
fn files() -> Result<Vec<String>> {
    let folder = page::folder().join("test");
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        names.extend(name.strip_suffix(".test.mjs").map(str::to_owned));
    }
    names.sort();
    // One takes as long as all others together, which go on beside it.
    names.sort_by_key(|name| name != LONGEST);
    Ok(names)
}

fn node(file: &str) -> Command {
    let mut command = program();
    // One test at a time: they draw, and they measure the rates of real servers.
    command.args([
        "--test",
        "--test-concurrency=1",
        "--test-reporter=spec",
        "--test-timeout=1800000",
    ]);
    command.arg(format!("{file}.test.mjs"));
    command
}
