//! The vectors: written by the oracle, and played on every machine.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, anyhow, ensure};

use crate::npm::{self, step};
use crate::road::Roads;
use crate::tally::Tally;
use crate::workspace::{cargo, root};
use crate::{progress, setup};

/// Who played, and how many.
struct Row {
    runner: &'static str,
    vectors: u64,
    steps: u64,
    differences: u64,
}

/// Checks that the oracle writes what is committed, and has every runner play it.
pub fn run(roads: &mut Roads, tally: &mut Tally) {
    oracle(tally);
    let mut rows = Vec::new();
    for (runner, profile) in [("native, debug", "dev"), ("native, release", "release")] {
        let mut command = cargo("run");
        command.args(["--package", "tidegate-conformance", "--profile", profile]);
        examine(runner, command, &mut rows, tally);
    }
    in_wasm(roads, &mut rows, tally);
    table(&rows);
}

/// Where what the runtimes of JavaScript need is.
fn folder() -> PathBuf {
    root().join("tests/conformance")
}

/// The module, compiled as the package's are, in each runtime.
fn in_wasm(roads: &mut Roads, rows: &mut Vec<Row>, tally: &mut Tally) {
    let target = root().join("target/conformance");
    let module = target.join(npm::TARGET).join("wasm/tidegate_conformance_wasm.wasm");
    let mut ready = false;
    tally.verdict("build for wasm", || {
        build(roads, &target)?;
        npm::install(&folder())?;
        setup::missing_tool("chromium")?;
        ready = true;
        Ok(())
    });
    for runner in ["node", "chromium", "workerd"] {
        let mut command = Command::new("node");
        command.args(["run.mjs", runner]).arg(&module).current_dir(folder());
        if ready {
            examine(runner, command, rows, tally);
        }
    }
}

fn build(roads: &mut Roads, target: &Path) -> Result<()> {
    let mut build = roads.to(npm::TARGET)?.cargo("build", npm::TARGET, root());
    build.args(["--package", "tidegate-conformance-wasm", "--profile", "wasm", "--target-dir"]);
    build.arg(target).args(["--config", npm::COMPACT]);
    step("cargo build, wasm", build)
}

/// Has a runner play all vectors, without one that differs.
fn examine(runner: &'static str, command: Command, rows: &mut Vec<Row>, tally: &mut Tally) {
    tally.verdict(runner, || {
        let row = play(runner, command)?;
        let different = row.differences;
        rows.push(row);
        ensure!(different == 0, "{different} vectors differ: see above");
        Ok(())
    });
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
