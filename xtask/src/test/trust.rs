//! Trust: the parts that look for what nobody thought of, under one name.
//!
//! They are parts like all others, so that a run of everything takes each of them once.

use std::process::Command;

use anyhow::ensure;

use super::cargo_test;
use crate::road::Roads;
use crate::tally::Tally;
use crate::workspace::{cargo, root};
use crate::{progress, setup, solver};

/// What stands for all of them: `cargo xtask test trust`.
pub const NAME: &str = "trust";

/// The parts that it stands for.
pub const PARTS: [&str; 4] = ["proofs", "exhaustive", "fuzz", "hostile"];

/// The lemmas, whose models are held against the core in the same run; and that each can fail.
pub fn proofs(_: &mut Roads, tally: &mut Tally) {
    if let Err(error) = setup::missing_solver() {
        return tally.verdict("the solver", || Err(error));
    }
    for (label, arguments) in [
        ("the models are the core", ["--models"].as_slice()),
        ("the lemmas", &["--lemmas"]),
        ("their wrong variants are refuted", &["--mutate"]),
    ] {
        let mut command = Command::new(solver::python());
        command.arg(root().join("tests/proofs/prove.py")).args(arguments);
        sum(label, command, tally);
    }
}

/// All that can happen to small policies, up to a depth, and random events under any policy.
pub fn exhaustive(_: &mut Roads, tally: &mut Tally) {
    tally.tests("random events", cargo_test("tidegate-promises", &["--release"]));
    let mut command = cargo("run");
    command.args(["--quiet", "--release", "--package", "tidegate-promises"]);
    sum("every order of events", command, tally);
}

/// A program that must succeed. Its last line says how much it checked.
fn sum(label: &str, command: Command, tally: &mut Tally) {
    let mut told = None;
    tally.verdict(label, || {
        let ended = progress::run(label, command, None)?;
        ensure!(ended.success(), "{}", ended.output);
        told = ended.output.lines().last().map(str::to_owned);
        Ok(())
    });
    told.iter().for_each(|told| println!("        {told}"));
}
