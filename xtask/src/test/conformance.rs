//! The vectors: written by the oracle, and played on every machine.

use std::process::Command;

use anyhow::{Result, anyhow, ensure};

use crate::progress;
use crate::road::Roads;
use crate::setup;
use crate::tally::Tally;
use crate::workspace::{cargo, root};

/// Who played, and how many.
struct Row {
    runner: &'static str,
    vectors: u64,
    steps: u64,
    differences: u64,
}

/// Checks that the oracle writes what is committed, and has every runner play it.
pub fn run(_: &mut Roads, tally: &mut Tally) {
    oracle(tally);
    let mut rows = Vec::new();
    for (runner, profile) in [("native, debug", "dev"), ("native, release", "release")] {
        let mut command = cargo("run");
        command.args(["--package", "tidegate-conformance", "--profile", profile]);
        tally.verdict(runner, || {
            let row = play(runner, command)?;
            let different = row.differences;
            rows.push(row);
            ensure!(different == 0, "{different} vectors differ: see above");
            Ok(())
        });
    }
    table(&rows);
}

/// Without Python nobody can say whether the vectors are the oracle's.
fn oracle(tally: &mut Tally) {
    if let Err(error) = setup::missing_tool("python") {
        return tally.verdict("the oracle writes these vectors", || Err(error));
    }
    let mut command = Command::new("python3");
    command.arg(root().join("tests/oracle/make.py")).arg("--check");
    tally.check("the oracle writes these vectors", command);
}

/// Runs a player, whose last table line sums it up.
fn play(runner: &'static str, command: Command) -> Result<Row> {
    let ended = progress::run(runner, command, None)?;
    let row = ended.output.lines().find_map(|line| row(runner, line));
    let row = row.ok_or_else(|| anyhow!("it tells no sum:\n{}", ended.output))?;
    if row.differences > 0 || !ended.success() {
        println!("{}", ended.output);
    }
    Ok(row)
}

/// `all <vectors> <steps> <differences>`.
fn row(runner: &'static str, line: &str) -> Option<Row> {
    let mut words = line.split_whitespace();
    if words.next()? != "all" {
        return None;
    }
    let mut number = || words.next()?.parse().ok();
    Some(Row { runner, vectors: number()?, steps: number()?, differences: number()? })
}

fn table(rows: &[Row]) {
    println!("        {:<18} {:>8} {:>8} {:>12}", "runner", "vectors", "steps", "differences");
    for Row { runner, vectors, steps, differences } in rows {
        println!("        {runner:<18} {vectors:>8} {steps:>8} {differences:>12}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_told_by_the_line_of_all_files() {
        let output = "file vectors steps differences\naimd 3 40 0\nall 5 70 1\n";
        let row = output.lines().find_map(|line| row("here", line)).unwrap();
        assert_eq!((row.vectors, row.steps, row.differences), (5, 70, 1));
    }
}
