//! Counts passed and failed checks, and prints one line per check.

use std::fmt::{self, Display, Write};
use std::process::{Command, ExitCode};
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};

use crate::progress::{self, step};

/// How many of the last lines of a failed check are printed, without those that say little.
const SHOWN: usize = 200;

/// The checks that have passed and failed.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Tally {
    /// The part that the checks belong to, if several run in parallel.
    pub part: &'static str,
    pub passed: u32,
    pub failed: u32,
    pub skipped: u32,
}

/// The result of a line: how many checks have passed and failed, its figures, and the output of a failure.
#[derive(Default)]
struct Outcome {
    passed: u32,
    failed: u32,
    figures: String,
    trouble: Option<String>,
}

impl Outcome {
    /// One check, with its figures.
    fn one(result: Result<String>) -> Self {
        match result {
            Ok(figures) => Self { passed: 1, figures, ..Self::default() },
            Err(error) => {
                Self { failed: 1, trouble: Some(format!("{error:#}")), ..Self::default() }
            }
        }
    }

    /// A command that must succeed: one check.
    fn command(label: &str, command: Command) -> Self {
        Self::one(step(label, command).map(|_| String::new()))
    }

    /// `cargo test`: as many checks as tests. If it fails without a failed test, for example because it does not
    /// build, that counts as one failure, as does a run without tests.
    fn tests(label: &str, command: Command) -> Self {
        let ended = match progress::run(label, command, Duration::MAX) {
            Ok(ended) => ended,
            Err(error) => return Self::one(Err(error)),
        };
        let (passed, failed) = count(&ended.output);
        match (ended.success, passed, failed) {
            (true, 0, 0) => Self::one(Err(anyhow!("there are no tests"))),
            (true, ..) => Self { passed, failed, ..Self::default() },
            _ => Self {
                passed,
                failed: failed.max(1),
                trouble: Some(ended.output),
                ..Self::default()
            },
        }
    }
}

impl Tally {
    /// Runs a command that must succeed: one check.
    pub fn check(&mut self, label: &str, command: Command) {
        self.examine(label, || Outcome::command(label, command));
    }

    /// Runs `cargo test`: as many checks as tests.
    pub fn tests(&mut self, label: &str, mut command: Command) {
        // What follows `--` is for the test program.
        if command.get_args().all(|arg| arg != "--") {
            command.arg("--no-fail-fast");
        }
        self.examine(label, || Outcome::tests(label, command));
    }

    /// A check in this program. It prints the error, and returns the value if there is none.
    pub fn verdict<T>(&mut self, label: &str, check: impl FnOnce() -> Result<T>) -> Option<T> {
        let mut value = None;
        self.figures(label, || {
            value = Some(check()?);
            Ok(String::new())
        });
        value
    }

    /// A check in this program whose figures are printed.
    pub fn figures(&mut self, label: &str, check: impl FnOnce() -> Result<String>) {
        self.examine(label, || Outcome::one(check()));
    }

    /// A check that is not possible here, and why: neither passed nor failed.
    pub fn skip(&mut self, label: &str, why: &str) {
        println!("  skip  {}{label}: {why}", self.before());
        self.skipped += 1;
    }

    /// Runs the commands of these names, which mostly wait, `lanes` at a time, and prints each as it ends.
    pub fn at_once(
        &mut self,
        lanes: usize,
        names: Vec<String>,
        command: impl Fn(&str) -> Command + Sync,
    ) {
        let work = |name: String| {
            let since = Instant::now();
            let outcome = Outcome::command(&name, command(&name));
            (name, outcome, since.elapsed())
        };
        in_lanes(lanes, names, work, |(name, outcome, took)| self.tell(&name, outcome, took));
    }

    fn examine(&mut self, label: &str, check: impl FnOnce() -> Outcome) {
        let since = Instant::now();
        let outcome = check();
        self.tell(label, outcome, since.elapsed());
    }

    fn tell(&mut self, label: &str, outcome: Outcome, took: Duration) {
        let Outcome { passed, failed, figures, trouble } = outcome;
        let mark = if failed == 0 { "ok  " } else { "FAIL" };
        let figures = if figures.is_empty() { figures } else { format!(" ({figures})") };
        let (before, took) = (self.before(), took.as_secs());
        let mut told = format!(
            "  {mark}  {before}{label}{figures}: {passed} passed, {failed} failed ({took} s)\n"
        );
        let lines = trouble.iter().flat_map(|trouble| trouble.lines());
        let lines: Vec<&str> = lines.filter(|line| !says_little(line)).collect();
        for line in &lines[lines.len().saturating_sub(SHOWN)..] {
            _ = writeln!(told, "        {line}");
        }
        // In one write, so that other parts' lines do not mix with it.
        print!("{told}");
        self.add(Self { passed, failed, ..Self::default() });
    }

    fn before(self) -> String {
        if self.part.is_empty() { String::new() } else { format!("{:<12}", self.part) }
    }

    pub fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }

    pub fn exit_code(self) -> ExitCode {
        ExitCode::from(u8::from(self.failed > 0))
    }
}

/// Does jobs that mostly wait, `lanes` at a time, and passes on each result as it comes.
pub fn in_lanes<J: Send, R: Send>(
    lanes: usize,
    jobs: Vec<J>,
    work: impl Fn(J) -> R + Sync,
    ended: impl FnMut(R),
) {
    let (waiting, work) = (&Mutex::new(jobs.into_iter()), &work);
    let (sender, results) = mpsc::channel();
    thread::scope(|scope| {
        for sender in vec![sender; lanes] {
            scope.spawn(move || {
                let next = || waiting.lock().ok()?.next();
                while let Some(job) = next() {
                    _ = sender.send(work(job));
                }
            });
        }
        results.into_iter().for_each(ended);
    });
}

impl Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)?;
        if self.skipped > 0 { write!(f, ", {} skipped", self.skipped) } else { Ok(()) }
    }
}

/// Whether a line of `cargo test` is empty, or is about tests that have passed.
fn says_little(line: &str) -> bool {
    let of_passed = line.starts_with("test ") && line.ends_with(" ... ok");
    of_passed || line.starts_with("test result: ok") || line.trim().is_empty()
}

/// Sums up the lines `test result: ok. 3 passed; 1 failed; …` of a `cargo test`.
fn count(output: &str) -> (u32, u32) {
    let results = output.lines().filter_map(|line| line.trim().strip_prefix("test result: "));
    let words: Vec<&str> = results.flat_map(|result| result.split([' ', ';'])).collect();
    let sum = |what| {
        let pairs = words.windows(2).filter(|pair| pair[1] == what);
        pairs.filter_map(|pair| pair[0].parse::<u32>().ok()).sum()
    };
    (sum("passed"), sum("failed"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum_of(passed: u32, failed: u32) -> Tally {
        Tally { passed, failed, ..Tally::default() }
    }

    fn sh(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script, "sh"]);
        command
    }

    #[test]
    fn a_test_run_fails_without_tests_and_when_it_does_not_build() {
        for (script, expected) in [
            ("echo 'error: no such thing'; exit 101", sum_of(0, 1)),
            ("echo 'test result: ok. 0 passed; 0 failed; 0 ignored'", sum_of(0, 1)),
            (
                "echo 'test a ... ok'; echo 'test result: ok. 1 passed; 0 failed; 1 ignored'; echo; \
                 echo 'test result: FAILED. 5 passed; 2 failed; 0 ignored'; exit 101",
                sum_of(6, 2),
            ),
        ] {
            let mut tally = Tally::default();
            tally.tests("tests", sh(script));
            assert_eq!(tally, expected, "{script}");
        }
    }

    #[test]
    fn each_check_counts_as_one_also_beside_others() {
        let mut tally = Tally::default();
        tally.at_once(2, ["exit 0", "exit 1", ""].map(str::to_owned).into(), sh);
        tally.check("absent", Command::new("no-such-program-here"));
        assert_eq!(tally.verdict("good", || Ok(7)), Some(7));
        tally.skip("far", "there is no way to it");
        assert_eq!(tally.to_string(), "3 passed, 2 failed, 1 skipped");
    }
}
