//! The vectors: written by the oracle, replayed in every runtime.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::firmware::{self, Board, Run};
use crate::npm::{self, step};
use crate::progress;
use crate::setup::{self, rustup};
use crate::tally::Tally;
use crate::workspace::{cargo, root};

/// A board needs some seconds on an idle machine.
const LIMIT: Duration = Duration::from_secs(600);

/// Checks that the oracle writes the committed vectors, and that every runner reproduces them.
pub fn run(tally: &mut Tally) {
    tally.verdict("the oracle writes these vectors", oracle);
    native("native, debug", "dev", tally);
    native("native, release", "release", tally);
    at_random(tally);
    in_wasm(&["node", "bun"], tally);
    on_boards(tally);
}

/// Natively, and in Node.
pub fn quick(tally: &mut Tally) {
    native("native, debug", "dev", tally);
    in_wasm(&["node"], tally);
}

/// On this machine.
fn native(runner: &str, profile: &str, tally: &mut Tally) {
    let mut command = cargo("run");
    command.args(["--package", "tidegate-conformance", "--profile", profile]);
    examine(runner, tally, || output(runner, command));
}

/// Policies, clients and responses that the committed vectors lack.
fn at_random(tally: &mut Tally) {
    let found = root().join("target/found");
    examine("native, at random", tally, || {
        setup::need(&["python"])?;
        let mut search = Command::new("python3");
        search.arg(root().join("tests/oracle/search.py")).args(["1", "400"]).arg(&found);
        step("tests/oracle/search.py", search)?;
        let mut command = cargo("run");
        command.args(["--package", "tidegate-conformance", "--"]).arg(&found);
        output("native, at random", command)
    });
}

/// The folder of the JavaScript runtimes.
fn folder() -> PathBuf {
    root().join("tests/conformance")
}

/// Runs the module, compiled like the package's, in these runtimes: V8 in Node, JavaScriptCore in Bun.
fn in_wasm(runners: &[&str], tally: &mut Tally) {
    let target = root().join("target/conformance");
    let module = target.join(npm::TARGET).join("wasm/tidegate_conformance_wasm.wasm");
    let mut ready = false;
    tally.verdict("build for wasm", || {
        build(&target)?;
        setup::need(&["node"])?;
        if runners.contains(&"bun") {
            npm::install("tidegate-conformance")?;
        }
        ready = true;
        Ok(())
    });
    for &runner in runners {
        // Bun is a package of npm.
        let bun = npm::installed().join(".bin/bun");
        let mut command = Command::new(if runner == "bun" { bun } else { runner.into() });
        command.arg("run.mjs").arg(&module).current_dir(folder());
        if ready {
            examine(runner, tally, || output(runner, command));
        }
    }
}

fn build(target: &Path) -> Result<()> {
    let mut build = rustup::cargo("build", npm::TARGET, root())?;
    build.args(["--package", "tidegate-conformance-wasm", "--profile", "wasm", "--target-dir"]);
    build.arg(target).args(["--config", npm::COMPACT]);
    step("cargo build, wasm", build)
}

/// Runs the image on each emulated board. It reads the vectors from a file of this machine, line by
/// line.
fn on_boards(tally: &mut Tally) {
    let file = root().join("target/vectors.jsonl");
    let mut ready = false;
    tally.verdict("the emulator", || {
        firmware::bring_tools()?;
        join(&file)?;
        ready = true;
        Ok(())
    });
    let boards =
        [("Cortex-M0", Board::Microbit), ("Cortex-M4F", Board::Mps2), ("RISC-V", Board::Virt)];
    for (runner, board) in boards.into_iter().filter(|_| ready) {
        examine(runner, tally, || {
            let folder = firmware::build(board, &["conformance"])?;
            let image = "conformance";
            let options = options(board, &file);
            Run { name: image, board, folder: &folder, image, options, limit: LIMIT }
                .to_its_end(|_| ())
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
fn examine(runner: &str, tally: &mut Tally, play: impl FnOnce() -> Result<String>) {
    let played = play().and_then(|output| {
        let sum = output.lines().find_map(sum);
        let sum = sum.with_context(|| format!("no sum in the output:\n{output}"))?;
        ensure!(sum.1 == 0, "{} vectors differ:\n{output}", sum.1);
        Ok(sum.0)
    });
    let told = played.as_ref().map_or_else(|_| String::new(), |played| format!(": {played}"));
    tally.verdict(&format!("{runner}{told}"), || played.map(drop));
}

/// Compares the vectors with the oracle, which is written in Python.
fn oracle() -> Result<()> {
    setup::need(&["python"])?;
    let mut command = Command::new("python3");
    command.arg(root().join("tests/oracle/make.py")).arg("--check");
    step("tests/oracle/make.py --check", command)
}

/// A runner's report, successful or not.
fn output(runner: &str, command: Command) -> Result<String> {
    Ok(progress::run(runner, command, None)?.output)
}

/// What was played, and how many vectors differ, from `all <vectors> <steps> <differences>`. A board adds how many
/// vectors it lacks the memory for; a log has a prefix.
fn sum(line: &str) -> Option<(String, u64)> {
    let mut words = line.split_whitespace().skip_while(|word| *word != "all").skip(1);
    let mut number = || words.next()?.parse::<u64>().ok();
    let (vectors, steps, differences) = (number()?, number()?, number()?);
    let skipped = number().map_or_else(String::new, |skipped| format!(", {skipped} skipped"));
    Some((format!("{vectors} vectors, {steps} steps{skipped}"), differences))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_read_from_the_line_of_all_files() {
        for (output, played, differences) in [
            ("file vectors steps differences\naimd 3 40 0\nall 5 70 1\n", "5 vectors, 70 steps", 1),
            ("0.1 INFO  all 4 60 0 1\n", "4 vectors, 60 steps, 1 skipped", 0),
        ] {
            assert_eq!(output.lines().find_map(sum).unwrap(), (played.to_owned(), differences));
        }
    }
}
