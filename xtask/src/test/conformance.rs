//! The vectors: written by the oracle, replayed in every runtime.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::firmware::{self, Board, Run};
use crate::npm;
use crate::progress::{self, step};
use crate::setup;
use crate::tally::Tally;
use crate::workspace::{cargo, root};

/// A board needs some seconds on an idle machine.
const LIMIT: Duration = Duration::from_secs(600);

/// Checks that the oracle writes the committed vectors, and that every runner reproduces them.
pub fn run(tally: &mut Tally) {
    tally.verdict("the oracle writes these vectors", || {
        step("tests/oracle/make.py", oracle("make.py", &["--check"])?)
    });
    native("dev", tally);
    native("release", tally);
    tally.figures("native, at random", at_random);
    in_wasm(&["node", "bun"], tally);
    on_boards(tally);
}

/// Natively, and in Node.
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

/// On this machine.
fn native(profile: &str, tally: &mut Tally) {
    let label = format!("native, {profile}");
    let mut command = cargo("run");
    command.args(["--package", "tidegate-conformance", "--profile", profile]);
    tally.figures(&label, || played(&label, command));
}

/// Policies, clients and responses that the committed vectors lack.
fn at_random() -> Result<String> {
    const FOUND: &str = "target/found";
    step("tests/oracle/search.py", oracle("search.py", &["1", "400", FOUND])?)?;
    let mut command = cargo("run");
    command.args(["--package", "tidegate-conformance", "--", FOUND]);
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

/// Runs the image on each emulated board. It reads the vectors from a file of this machine, line by
/// line.
fn on_boards(tally: &mut Tally) {
    let file = root().join("target/vectors.jsonl");
    let ready = tally.verdict("the emulator", || {
        firmware::bring_tools()?;
        join(&file)
    });
    for board in Board::ALL.into_iter().filter(|_| ready.is_some()) {
        tally.figures(board.name(), || {
            let folder = firmware::build(board, &["conformance"])?;
            let image = "conformance";
            let options = options(board, &file);
            let run = Run { name: image, board, folder: &folder, image, options, limit: LIMIT };
            sum(&run.to_its_end(|_| ())?)
        });
    }
}

/// All vectors in one file, because a board has no folders.
fn join(file: &Path) -> Result<()> {
    let folder = root().join("tests/vectors");
    let mut vectors = String::new();
    for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            vectors += &fs::read_to_string(&path)?;
        }
    }
    fs::write(file, vectors).with_context(|| file.display().to_string())
}

/// The file's name is the image's argument.
fn options(board: Board, file: &Path) -> Vec<String> {
    let named = format!("enable=on,target=native,arg=conformance,arg={}", file.display());
    let mut options = vec!["-semihosting-config".to_owned(), named];
    if board == Board::Microbit {
        // The chip exists with 16 KiB and with 32 KiB; a vector takes more than half of the smaller
        // one.
        options.extend(["-global".to_owned(), "nrf51-soc.sram-size=32768".to_owned()]);
    }
    options
}

/// Replays all vectors with a runner; none may differ.
fn played(runner: &str, command: Command) -> Result<String> {
    sum(&progress::run(runner, command, None)?.output)
}

/// What was played, from `all <vectors> <steps> <differences>`. A board adds how many vectors it lacks the memory for; a
/// log has a prefix.
fn sum(output: &str) -> Result<String> {
    let sum = output.lines().find_map(|line| {
        let mut words = line.split_whitespace().skip_while(|word| *word != "all").skip(1);
        let mut number = || words.next()?.parse::<u64>().ok();
        Some((number()?, number()?, number()?, number().unwrap_or(0)))
    });
    let sum = sum.with_context(|| format!("no sum in the output:\n{output}"))?;
    let (vectors, steps, differences, skipped) = sum;
    ensure!(differences == 0, "{differences} vectors differ:\n{output}");
    let skipped = if skipped == 0 { String::new() } else { format!(", {skipped} skipped") };
    Ok(format!("{vectors} vectors, {steps} steps{skipped}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_read_and_a_difference_is_an_error() {
        let played = sum("0.1 INFO  aimd 3 40 1\n0.1 INFO  all 4 60 0 1\n").unwrap();
        assert_eq!(played, "4 vectors, 60 steps, 1 skipped");
        assert!(sum("all 5 70 1\n").is_err() && sum("aimd 3 40 0\n").is_err());
    }
}
