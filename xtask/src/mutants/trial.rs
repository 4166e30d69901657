//! Runs tests against one change at a time: only those that reach it, the fastest first.

use std::collections::HashSet;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use signal_hook::consts::{SIGKILL, SIGXCPU};

use super::tree::Program;
use crate::progress::{self, Ended};

/// A test, and the places that it reaches.
#[derive(Debug)]
pub struct Test {
    program: Program,
    pub name: String,
    /// How long it takes without a change.
    time: Duration,
    reached: HashSet<u32>,
}

/// What the tests say about a change.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Verdict {
    /// This test fails.
    Detected(String),
    /// This test does not end.
    Endless(String),
    /// All tests that reach it pass.
    Survives,
    /// No test reaches it.
    Unreached,
    /// The compiler rejects it.
    Unbuilt,
}

/// The most processor time of a test without a change, in seconds.
const UNCHANGED: u64 = 600;

/// Runs each test alone, unchanged, and records what it reaches. The last record is kept in `folder`;
/// `inputs` identifies the sources that it belongs to.
pub fn record(programs: &[Program], folder: &Path, inputs: &str) -> Result<Vec<Test>> {
    let kept = folder.join("tests.json");
    if let Some(tests) = recorded(&kept, inputs) {
        return Ok(tests);
    }
    let mut tests = Vec::new();
    let reached = folder.join("reached.txt");
    for program in programs {
        let mut list = Command::new(&program.file);
        list.args(["--list", "--format", "terse"]).current_dir(&program.folder);
        let list = list.output().with_context(|| program.file.display().to_string())?;
        let list = String::from_utf8(list.stdout)?;
        for name in list.lines().filter_map(|line| line.strip_suffix(": test")) {
            _ = fs::remove_file(&reached);
            let mut test = Test {
                program: program.clone(),
                name: name.to_owned(),
                time: Duration::ZERO,
                reached: HashSet::new(),
            };
            let since = Instant::now();
            let mut command = test.command(UNCHANGED);
            command.env("TIDEGATE_REACHED", &reached);
            let ended = progress::run(name, command, None)?;
            if !ended.success() {
                bail!("`{name}` fails without any change:\n{}", ended.output);
            }
            test.time = since.elapsed();
            let places = fs::read_to_string(&reached).unwrap_or_default();
            test.reached = places.lines().filter_map(|line| line.parse().ok()).collect();
            tests.push(test);
        }
    }
    tests.sort_by_key(|test| test.time);
    let rows: Vec<Value> = tests.iter().map(Test::row).collect();
    fs::write(&kept, json!({ "inputs": inputs, "tests": rows }).to_string())?;
    Ok(tests)
}

fn recorded(file: &Path, inputs: &str) -> Option<Vec<Test>> {
    let page: Value = serde_json::from_str(&fs::read_to_string(file).ok()?).ok()?;
    if page["inputs"] != inputs {
        return None;
    }
    page["tests"].as_array()?.iter().map(Test::of_row).collect()
}

impl Test {
    fn row(&self) -> Value {
        json!({
            "program": self.program.file, "folder": self.program.folder, "name": self.name,
            "nanos": u64::try_from(self.time.as_nanos()).unwrap_or(u64::MAX),
            "reached": self.reached,
        })
    }

    fn of_row(row: &Value) -> Option<Self> {
        let text = |name: &str| row[name].as_str();
        let program = Program { file: text("program")?.into(), folder: text("folder")?.into() };
        let number = |value: &Value| u32::try_from(value.as_u64()?).ok();
        Some(Self {
            program,
            name: text("name")?.into(),
            time: Duration::from_nanos(row["nanos"].as_u64()?),
            reached: row["reached"].as_array()?.iter().map(number).collect::<Option<_>>()?,
        })
    }

    /// The test alone, with limits on its processor time and memory: a busy machine does not make
    /// it fail, and a change that makes it endless or greedy does.
    fn command(&self, seconds: u64) -> Command {
        let mut command = Command::new("sh");
        command
            .args(["-c", "ulimit -t \"$0\" && ulimit -v 4000000 && exec \"$@\""])
            .arg(seconds.to_string())
            .arg(&self.program.file)
            .args(["--exact", &self.name, "--test-threads=1"])
            .current_dir(&self.program.folder)
            // The tests must not keep an input that detects a change.
            .env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "1");
        command
    }

    /// `None` if it does not end.
    fn passes(&self, change: u32) -> Result<Option<bool>> {
        let seconds = 2 + 4 * self.time.as_secs();
        let mut command = self.command(seconds);
        command.env("TIDEGATE_MUTANT", change.to_string());
        // Programs that wait without computing are stopped, too.
        let limit = Duration::from_secs(60) + self.time * 30;
        let ended = progress::run(&self.name, command, Some(limit))?;
        let code = ended.status.and_then(|status| status.code());
        if code.is_some_and(|code| ![0, FAILED].contains(&code)) {
            bail!("`{}` does not start: {}", self.name, ended.reason());
        }
        Ok((!is_endless(&ended)).then(|| ended.success()))
    }
}

/// The exit status of a program of tests in which one fails.
const FAILED: i32 = 101;

/// Whether a test was stopped at one of its limits.
fn is_endless(ended: &Ended) -> bool {
    ended.status.is_none_or(|status| {
        status.signal().is_some_and(|signal| [SIGXCPU, SIGKILL].contains(&signal))
    })
}

/// Tries a change: `place` is the number of its place's first change.
pub fn run(tests: &[Test], place: u32, change: u32) -> Result<Verdict> {
    let mut reached = false;
    for test in tests.iter().filter(|test| test.reached.contains(&place)) {
        reached = true;
        match test.passes(change)? {
            Some(true) => (),
            Some(false) => return Ok(Verdict::Detected(test.name.clone())),
            None => return Ok(Verdict::Endless(test.name.clone())),
        }
    }
    Ok(if reached { Verdict::Survives } else { Verdict::Unreached })
}
