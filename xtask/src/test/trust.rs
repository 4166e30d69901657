//! Trust: the parts that look for what nobody thought of, under one name.
//!
//! They are parts like all others, so that a run of everything takes each of them once.

use std::process::Command;

use anyhow::{Context, Result, bail};

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
        let mut told = String::new();
        tally.verdict(label, || {
            let mut command = Command::new(solver::python());
            command.arg(root().join("tests/proofs/prove.py")).args(arguments);
            told = last_line(label, command)?;
            Ok(())
        });
        println!("        {told}");
    }
}

/// All that can happen to small policies, up to a depth.
pub fn exhaustive(_: &mut Roads, tally: &mut Tally) {
    let label = "every order of events";
    let mut told = String::new();
    tally.verdict(label, || {
        let mut command = cargo("run");
        command.args(["--quiet", "--release", "--package", "tidegate-exhaustive"]);
        told = last_line(label, command)?;
        Ok(())
    });
    println!("        {told}");
}

/// What a program that succeeds says at the end; where it fails, all that it says.
fn last_line(label: &str, command: Command) -> Result<String> {
    let ended = progress::run(label, command, None)?;
    if !ended.success() {
        bail!("{}", ended.output);
    }
    let line = ended.output.lines().last().context("it says nothing")?;
    Ok(line.to_owned())
}
