//! The vectors: written by the oracle, replayed in every runtime.

use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::embedded;
use crate::npm;
use crate::progress::{self, step};
use crate::setup;
use crate::tally::Tally;
use crate::workspace::{cargo, root};

/// Checks that the oracle writes the committed vectors, and that every runner reproduces them.
pub fn run(tally: &mut Tally) {
    tally.verdict("the oracle writes these vectors", || {
        step("tests/oracle/make.py", oracle("make.py", &["--check"])?)
    });
    native("dev", tally);
    native("release", tally);
    tally.figures("native, at random", at_random);
    in_wasm(&["node", "bun"], tally);
    embedded::on_boards(&["the_vectors", "--test-threads=1"], tally);
}

pub fn quick(tally: &mut Tally) {
    native("dev", tally);
    in_wasm(&["node"], tally);
}

/// A program of the oracle, which is written in Python.
fn oracle(program: &str, args: &[&str]) -> Result<Command> {
    setup::need(&["python"])?;
    let mut command = Command::new("python3");
    command.arg(root().join("tests/oracle").join(program)).args(args).current_dir(root());
    Ok(command)
}

fn native(profile: &str, tally: &mut Tally) {
    let label = format!("native, {profile}");
    let mut command = player();
    command.args(["--profile", profile]);
    tally.figures(&label, || played(&label, command));
}

/// The runner, with the features of the part `host`.
fn player() -> Command {
    let mut command = cargo("run");
    command.args(["--all-features", "--bin", "tidegate-conformance"]);
    command
}

/// Policies, clients and responses that the committed vectors lack.
fn at_random() -> Result<String> {
    const FOUND: &str = "target/found";
    step("tests/oracle/search.py", oracle("search.py", &["1", "400", FOUND])?)?;
    let mut command = player();
    command.args(["--", FOUND]);
    played("native, at random", command)
}

/// Runs the module, compiled like the package's, in these runtimes: V8 in Node, JavaScriptCore in Bun.
fn in_wasm(runners: &[&str], tally: &mut Tally) {
    let built = tally.verdict("build for wasm", || {
        setup::need(&["node"])?;
        // Bun is a package of npm.
        if runners.contains(&"bun") {
            npm::install("tidegate-conformance")?;
        }
        npm::compact("tidegate-conformance-wasm", "", &root().join("target/conformance"), &[])
    });
    let Some(module) = built else { return };
    for runner in runners {
        let bun = npm::installed().join(".bin/bun");
        let mut command = Command::new(if *runner == "bun" { bun } else { runner.into() });
        command.arg("run.mjs").arg(&module).current_dir(root().join("tests/conformance"));
        tally.figures(runner, || played(runner, command));
    }
}

/// Replays all vectors with a runner; none may differ.
fn played(runner: &str, command: Command) -> Result<String> {
    sum(&progress::run(runner, command, None)?.output)
}

/// What was played, from `all <vectors> <steps> <differences>`.
fn sum(output: &str) -> Result<String> {
    let sum = output.lines().find_map(|line| {
        let mut words = line.strip_prefix("all ")?.split_whitespace();
        let mut number = || words.next()?.parse::<u64>().ok();
        Some((number()?, number()?, number()?))
    });
    let sum = sum.with_context(|| format!("no sum in the output:\n{output}"))?;
    let (vectors, steps, differences) = sum;
    ensure!(differences == 0, "{differences} vectors differ:\n{output}");
    Ok(format!("{vectors} vectors, {steps} steps"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_read_and_a_difference_is_an_error() {
        assert_eq!(sum("aimd 3 40 1\nall 4 60 0\n").unwrap(), "4 vectors, 60 steps");
        assert!(sum("all 5 70 1\n").is_err() && sum("aimd 3 40 0\n").is_err());
    }
}
