//! Counts passed and failed checks, and prints one line per check.

use std::fmt::Write;
use std::process::{Command, ExitCode};
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use crate::progress;
use crate::setup::rustup;
use crate::workspace::root;

/// How many of the last lines of a failed check are printed, without those of passed tests.
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

impl Tally {
    /// Runs a command that must succeed: one check.
    pub fn check(&mut self, label: &str, command: Command) {
        self.examine(label, || checked(label, command));
    }

    /// Runs `cargo VERB` for a target with these arguments: one check.
    pub fn on_target(&mut self, label: &str, verb: &str, target: &str, args: &[&str]) {
        match rustup::cargo(verb, target, root()) {
            Ok(mut command) => {
                command.args(args);
                self.check(label, command);
            }
            Err(error) => self.verdict(label, || Err(error)),
        }
    }

    /// Runs commands that must succeed and mostly wait, `lanes` at a time: one check each, printed
    /// as it ends.
    pub fn checks(&mut self, lanes: usize, commands: impl IntoIterator<Item = (String, Command)>) {
        self.at_once(lanes, commands, checked);
    }

    /// Runs test programs, `lanes` at a time: as many checks as tests, printed as each program ends.
    pub fn tests_at_once(&mut self, lanes: usize, programs: Vec<(String, Command)>) {
        self.at_once(lanes, programs, tested);
    }

    fn at_once(
        &mut self,
        lanes: usize,
        commands: impl IntoIterator<Item = (String, Command)>,
        run: fn(&str, Command) -> Outcome,
    ) {
        let waiting: Vec<_> = commands.into_iter().collect();
        let waiting = Mutex::new(waiting.into_iter());
        let (sender, ended) = mpsc::channel();
        thread::scope(|scope| {
            for sender in vec![sender; lanes] {
                scope.spawn(|| {
                    let sender = sender; // dropped with the lane; the last one ends the printing
                    let next = || waiting.lock().ok()?.next();
                    while let Some((label, command)) = next() {
                        let since = Instant::now();
                        let result = run(&label, command);
                        _ = sender.send((label, result, since.elapsed()));
                    }
                });
            }
            for (label, result, took) in ended {
                self.tell(&label, result, took);
            }
        });
    }

    /// Runs `cargo test`: as many checks as tests. A run without tests is a failure.
    pub fn tests(&mut self, label: &str, mut command: Command) {
        // What follows `--` is for the test program.
        if command.get_args().all(|arg| arg != "--") {
            command.arg("--no-fail-fast");
        }
        self.examine(label, || {
            let (mut counted, trouble) = tested(label, command);
            let empty = counted == Tally::default();
            counted.failed += u32::from(empty);
            (counted, trouble.or_else(|| empty.then(|| "there are no tests".to_owned())))
        });
    }

    /// A check in this program. It prints the error.
    pub fn verdict(&mut self, label: &str, check: impl FnOnce() -> anyhow::Result<()>) {
        self.examine(label, || match check() {
            Ok(()) => (ONE_PASSED, None),
            Err(error) => (ONE_FAILED, Some(format!("{error:#}"))),
        });
    }

    /// A check that is not possible here, and why: neither passed nor failed.
    pub fn skip(&mut self, label: &str, why: &str) {
        println!("  skip  {}{label}: {why}", self.before());
        self.skipped += 1;
    }

    fn examine(&mut self, label: &str, check: impl FnOnce() -> Outcome) {
        let since = Instant::now();
        let result = check();
        self.tell(label, result, since.elapsed());
    }

    fn tell(&mut self, label: &str, (counted, trouble): Outcome, took: Duration) {
        let took = took.as_secs();
        let mark = if counted.failed == 0 { "ok  " } else { "FAIL" };
        let mut told = format!("  {mark}  {}{label}: {counted} ({took} s)\n", self.before());
        if let Some(trouble) = trouble {
            let lines: Vec<&str> = trouble.lines().filter(|line| !is_passed(line)).collect();
            for line in &lines[lines.len().saturating_sub(SHOWN)..] {
                _ = writeln!(told, "        {line}");
            }
        }
        // In one write, so that other parts' lines do not mix with it.
        print!("{told}");
        self.add(counted);
    }

    /// The prefix of a line.
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

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)?;
        if self.skipped > 0 { write!(f, ", {} skipped", self.skipped) } else { Ok(()) }
    }
}

const ONE_PASSED: Tally = Tally { part: "", passed: 1, failed: 0, skipped: 0 };
const ONE_FAILED: Tally = Tally { part: "", passed: 0, failed: 1, skipped: 0 };

/// What was counted, and the output of a failure.
type Outcome = (Tally, Option<String>);

/// The output of a test program. If it fails without a failed test, for example because it does not build, that counts
/// as one failure.
fn tested(label: &str, command: Command) -> Outcome {
    match progress::run(label, command, None) {
        Ok(ended) => {
            let mut counted = count(&ended.output);
            counted.failed += u32::from(!ended.success() && counted.failed == 0);
            (counted, (counted.failed > 0).then_some(ended.output))
        }
        Err(error) => (ONE_FAILED, Some(does_not_start(&error))),
    }
}

fn checked(label: &str, command: Command) -> Outcome {
    match progress::run(label, command, None) {
        Ok(ended) if ended.success() => (ONE_PASSED, None),
        Ok(ended) => (ONE_FAILED, Some(ended.output)),
        Err(error) => (ONE_FAILED, Some(does_not_start(&error))),
    }
}

fn does_not_start(error: &std::io::Error) -> String {
    format!("it does not start: {error}")
}

/// Whether a line of `cargo test` reports one passed test.
fn is_passed(line: &str) -> bool {
    line.starts_with("test ") && line.ends_with(" ... ok")
}

/// Sums up the lines `test result: ok. 3 passed; 1 failed; …` of a `cargo test`.
fn count(output: &str) -> Tally {
    let mut sum = Tally::default();
    for line in output.lines() {
        let Some(result) = line.trim().strip_prefix("test result: ") else { continue };
        // "ok. 3 passed; 1 failed; 0 ignored; …": the number precedes its word.
        let words = result.split([' ', ';', '.']).filter(|word| !word.is_empty());
        let mut number = 0;
        for word in words {
            match word {
                "passed" => sum.passed += number,
                "failed" => sum.failed += number,
                _ => (),
            }
            number = word.parse().unwrap_or(0);
        }
    }
    sum
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
    fn the_results_of_all_test_binaries_are_summed() {
        let output = "\
running 2 tests
test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 7 filtered out; finished in 0.00s

   Doc-tests tidegate
test result: FAILED. 11 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.5s
";
        assert_eq!(count(output), sum_of(13, 3));
    }

    #[test]
    fn output_of_a_test_that_looks_like_a_result_is_not_counted() {
        let output = "9 passed; 9 failed\nthe test result: ok. 9 passed\ntest result: 9\n";
        assert_eq!(count(output), Tally::default());
    }

    #[test]
    fn only_passed_tests_are_omitted_from_the_output() {
        assert!(is_passed("test a_name ... ok"));
        assert!(!is_passed("test a_name ... FAILED"));
        assert!(!is_passed("thread 'a_name' panicked: not ... ok"));
    }

    #[test]
    fn a_test_run_that_fails_without_a_failed_test_counts_as_one_failure() {
        let mut tally = Tally::default();
        tally.tests("does not build", sh("echo 'error: no such thing'; exit 101"));
        assert_eq!(tally, sum_of(0, 1));
    }

    #[test]
    fn a_test_run_that_finds_no_test_is_a_failure() {
        let mut tally = Tally::default();
        tally.tests("empty", sh("echo 'test result: ok. 0 passed; 0 failed; 0 ignored'"));
        assert_eq!(tally, sum_of(0, 1));
    }

    #[test]
    fn failures_of_tests_are_counted_once() {
        let mut tally = Tally::default();
        tally.tests(
            "two",
            sh("echo 'test result: FAILED. 5 passed; 2 failed; 0 ignored'; exit 101"),
        );
        assert_eq!(tally, sum_of(5, 2));
    }

    #[test]
    fn waiting_checks_run_in_parallel_and_each_counts_as_one() {
        let mut tally = Tally::default();
        let folder = std::env::temp_dir().join(format!("tidegate-lanes-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        // Each of the first two ends only after the other has begun.
        let meet = |own: &str, other: &str| {
            let mut command = sh(&format!(
                "touch {own}; for i in $(seq 600); do test -e {other} && exit 0; sleep 0.1; done; exit 1"
            ));
            command.current_dir(&folder);
            command
        };
        let commands = [
            ("one", meet("a", "b")),
            ("two", meet("b", "a")),
            ("bad", sh("exit 1")),
            ("good", sh("")),
        ];
        tally.checks(2, commands.map(|(label, command)| (label.to_owned(), command)));
        std::fs::remove_dir_all(folder).unwrap();
        assert_eq!(tally, sum_of(3, 1));
    }

    #[test]
    fn each_check_counts_as_one() {
        let mut tally = Tally::default();
        tally.check("good", sh("exit 0"));
        tally.check("bad", sh("exit 1"));
        tally.check("absent", Command::new("no-such-program-here"));
        tally.verdict("good", || Ok(()));
        tally.verdict("bad", || Err(anyhow::anyhow!("so it is")));
        assert_eq!(tally, sum_of(2, 3));
        assert_eq!(tally.to_string(), "2 passed, 3 failed");
        tally.skip("far", "there is no way to it");
        assert_eq!(tally.to_string(), "2 passed, 3 failed, 1 skipped");
    }
}
