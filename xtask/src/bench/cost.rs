//! Instructions per decision, counted by callgrind, which is deterministic.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::table::{self, Row};
use super::{boards, compiler, publish};
use crate::progress::step;
use crate::setup;
use crate::workspace::{cargo, root};

/// Below the folder of its build.
const PROGRAM: &str = "release/tidegate-cost";

pub fn run() -> Result<()> {
    setup::need(&["valgrind"])?;
    let folder = root().join("target/cost");
    build(&folder)?;
    let (compiler, target) = compiler()?;
    // Each line is the name of a subject, and what it is. The first is the frame of all.
    let listed = step("listing the subjects", Command::new(folder.join(PROGRAM)))?;
    let mut rows = Vec::new();
    for (name, what) in listed.lines().filter_map(|line| line.split_once(' ')) {
        let figure = count(&folder, name)?;
        rows.push(Row { what: what.into(), target: target.clone(), figure });
    }
    let frame = rows.remove(0).figure;
    rows.iter_mut().for_each(|row| row.figure = row.figure.saturating_sub(frame));
    publish("cost.md", &(page(&rows, &compiler) + &boards::section(&boards::count()?)))
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

fn page(rows: &[Row], compiler: &str) -> String {
    let mut page = String::from(
        "# Cost\n\n\
         Instructions of one decision, as callgrind counts them: the mean of 10 000 calls after 2000 \
         that warm up, less the overhead of measuring. All subjects run in the same frame, with the time \
         as an argument (unless stated otherwise), and compiled as users compile them. `adaptive` \
         meets a server of ten calls a second; throttled calls are included as they occur.\n\n",
    );
    table::table(&mut page, "instructions", &[&rows[0].target], rows);
    _ = write!(
        page,
        "\nCompiled by {compiler}. Written by `cargo xtask bench cost`, which keeps callgrind's data in \
         target/cost: `callgrind_annotate target/cost/adaptive-blind.callgrind` shows the cost \
         of each line.\n"
    );
    page
}
