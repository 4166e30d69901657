//! The checks of core for all numbers, and for every order of events.

use std::process::Command;

use anyhow::ensure;

use super::cargo_test;
use crate::progress;
use crate::setup::{self, solver};
use crate::tally::Tally;
use crate::workspace::{cargo, root};

/// The lemmas. The same run compares their models with core, and checks that each lemma can fail.
pub fn proofs(tally: &mut Tally) {
    if let Err(error) = setup::need(&[solver::NAME]) {
        return tally.verdict("the solver", || Err(error));
    }
    for (label, arguments) in [
        ("the models agree with core", ["--models"].as_slice()),
        ("the lemmas", &["--lemmas"]),
        ("wrong variants are refuted", &["--mutate"]),
    ] {
        let mut command = Command::new(solver::python());
        command.arg(root().join("tests/proofs/prove.py")).args(arguments);
        sum(label, command, tally);
    }
}

/// Every order of events up to a depth with small policies, and random events with any policy.
pub fn exhaustive(tally: &mut Tally) {
    tally.tests("random events", cargo_test("tidegate-promises", &["--release"]));
    let mut command = cargo("run");
    command.args(["--quiet", "--release", "--package", "tidegate-promises"]);
    sum("every order of events", command, tally);
}

/// Runs a program that must succeed. Its last line of output says how much it checked.
fn sum(label: &str, command: Command, tally: &mut Tally) {
    let ended = progress::run(label, command, None).map_err(Into::into).and_then(|ended| {
        ensure!(ended.success(), "{}", ended.output);
        Ok(ended.output.lines().last().unwrap_or_default().to_owned())
    });
    let told = ended.as_ref().map_or_else(|_| String::new(), |told| format!(": {told}"));
    tally.verdict(&format!("{label}{told}"), || ended.map(drop));
}
