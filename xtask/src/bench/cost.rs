//! Instructions per decision, counted by callgrind, which is deterministic.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::boards::{self, Figures};
use super::size::TARGETS;
use super::table::{Row, bars, table};
use super::{compiler, publish};
use crate::progress::step;
use crate::setup;
use crate::workspace::{cargo, root};

/// The limit for `adaptive`: a poll that admits and its settle.
const PAIR: u64 = 200;

/// Below the folder of its build.
const PROGRAM: &str = "release/tidegate-cost";

pub fn run() -> Result<()> {
    setup::need(&["valgrind"])?;
    let folder = root().join("target/cost");
    build(&folder)?;
    let (compiler, target) = compiler()?;
    // Each line is the name of a subject, and what it is. The first is the frame of all.
    let listed = step("listing the subjects", Command::new(folder.join(PROGRAM)))?;
    let (mut names, mut rows) = (Vec::new(), Vec::new());
    for (name, what) in listed.lines().filter_map(|line| line.split_once(' ')) {
        let figure = count(&folder, name)?;
        names.push(name);
        rows.push(Row { what: what.into(), target: target.clone(), figure });
    }
    let frame = rows.remove(0).figure;
    rows.iter_mut().for_each(|row| row.figure = row.figure.saturating_sub(frame));
    let of = |name: &str| {
        let named = names[1..].iter().zip(&rows).find(|(it, _)| **it == name);
        named.map_or(0, |(_, row)| row.figure)
    };
    publish("cost.md", &page(&rows, of, &compiler, &boards::count()?))
}

fn build(folder: &Path) -> Result<()> {
    let mut command = cargo("build");
    command.args(["--release", "--package", "tidegate-cost", "--target-dir"]).arg(folder);
    // Compiled as users compile the crates, without overflow checks. Line tables change no
    // instruction and let callgrind_annotate name the source.
    command.args(["--config", "profile.release.overflow-checks=false"]);
    // With the options of a program that is optimised for speed.
    command.args(["--config", "profile.release.codegen-units=1"]);
    command.args(["--config", "profile.release.lto=\"thin\""]);
    command.args(["--config", "profile.release.debug=\"line-tables-only\""]);
    step("building tools/bench/cost", command)?;
    Ok(())
}

fn count(folder: &Path, subject: &str) -> Result<u64> {
    let mut command = Command::new("valgrind");
    let kept = folder.join(format!("{subject}.callgrind"));
    command.args(["--tool=callgrind", "--toggle-collect=*meter::measured*"]);
    command.arg(format!("--callgrind-out-file={}", kept.display()));
    command.arg(folder.join(PROGRAM)).arg(subject);
    let output = step(&format!("counting {subject}"), command)?;
    per_call(&output).with_context(|| format!("callgrind did not count {subject}:\n{output}"))
}

/// Reads callgrind's sum, and the program's number of measured calls.
fn per_call(output: &str) -> Option<u64> {
    let collected = output.lines().find_map(|line| line.split_once("Collected : "))?.1;
    let collected: u64 = collected.trim().parse().ok()?;
    let calls: u64 = output.lines().find_map(|line| line.trim().parse().ok())?;
    (collected > 0).then(|| (collected + calls / 2).checked_div(calls))?
}

fn page(rows: &[Row], of: impl Fn(&str) -> u64, compiler: &str, boards: &Figures) -> String {
    let pair = |tier| {
        let name = format!("adaptive, {tier}: poll + settle");
        (name, PAIR, of(&format!("adaptive-{tier}")))
    };
    let pairs = ["open", "blind", "remaining", "period"].map(pair);
    let beside = [
        ("plain GCRA against governor's check", "governor", "pacing"),
        (
            "`poll` of `fixed` against governor's check with its clock",
            "governor-clock",
            "fixed-poll",
        ),
    ];
    let beside = beside.map(|(name, goal, is)| (name.to_owned(), of(goal), of(is)));
    format!(
        include_str!("cost.txt"),
        instructions = table("instructions", &[&rows[0].target], rows),
        bars = bars(pairs.into_iter().chain(beside)),
        compiler = compiler,
        on_boards = table("instructions", &TARGETS, &boards.instructions),
        stack = table("bytes of stack", &TARGETS, &boards.stack),
        bars_of_boards = bars(boards.bars()),
    )
}
