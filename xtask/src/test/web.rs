//! The web page in a real browser, against real servers on this machine.

use std::process::Command;

use crate::programs::{node_test, node_tests};
use crate::tally::Tally;
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
    // With the features of the part `host`.
    simulator.args(["--all-features", "--test", "wasm", "--", "--ignored"]);
    simulator.env("TIDEGATE_SIM_WASM", page::module("lab"));
    tally.tests("the simulator", simulator);
    // The slowest file turns every control of the laboratory.
    let folder = page::folder().join("test");
    let files = tally.verdict("the tests", || node_tests(&folder, &["lab"])).unwrap_or_default();
    tally.at_once(2, files, |name| node_test(&folder, name, &[]));
}

pub fn program() -> Command {
    let mut command = Command::new("node");
    command.current_dir(page::folder().join("test"));
    programs::tell(&mut command);
    command
}
