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

/// Who played, and how many.
struct Row {
    runner: &'static str,
    vectors: u64,
    steps: u64,
    differences: u64,
    /// Vectors for which a board lacks memory.
    passed_over: u64,
}

/// Checks that the oracle writes the committed vectors, and that every runner reproduces them.
pub fn run(tally: &mut Tally) {
    oracle(tally);
    let mut rows = Vec::new();
    native("native, debug", "dev", &mut rows, tally);
    native("native, release", "release", &mut rows, tally);
    at_random(&mut rows, tally);
    in_wasm(&["node", "bun"], &mut rows, tally);
    on_boards(&mut rows, tally);
    table(&rows);
}

/// Natively, and in Node.
pub fn quick(tally: &mut Tally) {
    let mut rows = Vec::new();
    native("native, debug", "dev", &mut rows, tally);
    in_wasm(&["node"], &mut rows, tally);
    table(&rows);
}

/// On this machine.
fn native(runner: &'static str, profile: &str, rows: &mut Vec<Row>, tally: &mut Tally) {
    let mut command = cargo("run");
    command.args(["--package", "tidegate-conformance", "--profile", profile]);
    examine(runner, rows, tally, || output(runner, command));
}

/// Policies, clients and responses that the committed vectors lack.
fn at_random(rows: &mut Vec<Row>, tally: &mut Tally) {
    let found = root().join("target/found");
    examine("native, at random", rows, tally, || {
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
fn in_wasm(runners: &[&'static str], rows: &mut Vec<Row>, tally: &mut Tally) {
    let target = root().join("target/conformance");
    let module = target.join(npm::TARGET).join("wasm/tidegate_conformance_wasm.wasm");
    let mut ready = false;
    tally.verdict("build for wasm", || {
        build(&target)?;
        setup::need(&["node"])?;
        if runners.contains(&"bun") {
            npm::install(&folder())?;
        }
        ready = true;
        Ok(())
    });
    for &runner in runners {
        // Bun is a package of npm.
        let bun = folder().join("node_modules/.bin/bun");
        let mut command = Command::new(if runner == "bun" { bun } else { runner.into() });
        command.arg("run.mjs").arg(&module).current_dir(folder());
        if ready {
            examine(runner, rows, tally, || output(runner, command));
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
fn on_boards(rows: &mut Vec<Row>, tally: &mut Tally) {
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
        examine(runner, rows, tally, || {
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
fn examine(
    runner: &'static str,
    rows: &mut Vec<Row>,
    tally: &mut Tally,
    play: impl FnOnce() -> Result<String>,
) {
    tally.verdict(runner, || {
        let output = play()?;
        let sum = output.lines().find_map(|line| row(runner, line));
        let row = sum.with_context(|| format!("no sum in the output:\n{output}"))?;
        let different = row.differences;
        rows.push(row);
        ensure!(different == 0, "{different} vectors differ:\n{output}");
        Ok(())
    });
}

/// Without Python, the vectors cannot be compared with the oracle.
fn oracle(tally: &mut Tally) {
    if let Err(error) = setup::need(&["python"]) {
        return tally.verdict("the oracle writes these vectors", || Err(error));
    }
    let mut command = Command::new("python3");
    command.arg(root().join("tests/oracle/make.py")).arg("--check");
    tally.check("the oracle writes these vectors", command);
}

/// A runner's report, successful or not.
fn output(runner: &str, command: Command) -> Result<String> {
    Ok(progress::run(runner, command, None)?.output)
}

/// `all <vectors> <steps> <differences>`, and on boards the number of skipped vectors; a log has a
/// prefix.
fn row(runner: &'static str, line: &str) -> Option<Row> {
    let mut words = line.split_whitespace().skip_while(|word| *word != "all").skip(1);
    let mut number = || words.next()?.parse().ok();
    let (vectors, steps, differences) = (number()?, number()?, number()?);
    Some(Row { runner, vectors, steps, differences, passed_over: number().unwrap_or(0) })
}

/// In one write, so that other parts' lines do not mix with it.
fn table(rows: &[Row]) {
    let line = |cells: [&str; 5]| {
        let [runner, vectors, steps, differences, passed_over] = cells;
        format!("        {runner:<16}{vectors:>8}{steps:>8}{differences:>13}{passed_over:>13}\n")
    };
    let mut table = line(["runner", "vectors", "steps", "differences", "passed over"]);
    for Row { runner, vectors, steps, differences, passed_over } in rows {
        let cells = [vectors, steps, differences, passed_over].map(u64::to_string);
        table += &line([runner, &cells[0], &cells[1], &cells[2], &cells[3]]);
    }
    print!("{table}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_read_from_the_line_of_all_files() {
        for (output, expected) in [
            ("file vectors steps differences\naimd 3 40 0\nall 5 70 1\n", (5, 70, 1, 0)),
            ("0.1 INFO  all 4 60 0 1\n", (4, 60, 0, 1)),
        ] {
            let row = output.lines().find_map(|line| row("here", line)).unwrap();
            let told = (row.vectors, row.steps, row.differences, row.passed_over);
            assert_eq!(told, expected);
        }
    }
}
