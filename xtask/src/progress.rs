//! Runs other programs quietly: keeps their output and shows progress.

use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::fs::FileExt;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::LazyLock;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use indicatif::{MultiProgress, ProgressBar, ProgressFinish, ProgressStyle};

use crate::children::Program;

/// How often a line is written to a log, which cannot show a spinner.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// How often the program's end, the time limit and the heartbeat are checked.
const TICK: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub struct Ended {
    /// `None`: it was stopped at its time limit.
    pub status: Option<ExitStatus>,
    /// Its stdout and stderr in the order of writing.
    pub output: String,
}

impl Ended {
    pub fn success(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }

    /// Why it failed, in a few words: its last line that looks like an error, as of rustup and
    /// apt-get, else its last line that is not empty.
    pub fn reason(&self) -> String {
        let mut lines = self.output.lines().rev().map(str::trim).filter(|line| !line.is_empty());
        let error = lines
            .clone()
            .find_map(|line| line.strip_prefix("error: ").or_else(|| line.strip_prefix("E: ")));
        match (self.status, error.or_else(|| lines.next())) {
            (None, _) => "it did not end in time".into(),
            (Some(_), Some(line)) => line.trim_end_matches('.').into(),
            (Some(status), None) => status.to_string(),
        }
    }
}

/// Runs a command that must succeed, and returns its output.
pub fn step(label: &str, command: Command) -> Result<String> {
    let ended = run(label, command, None)?;
    ensure!(ended.success(), "{label} failed\n{}", ended.output);
    Ok(ended.output)
}

/// Runs a command that must succeed before `limit`. The error is the reason without the output.
pub fn brief(label: &str, command: Command, limit: Option<Duration>) -> Result<()> {
    let ended = run(label, command, limit)?;
    ensure!(ended.success(), "`{label}` says: {}", ended.reason());
    Ok(())
}

/// Runs `command` to its end, or until `limit` is over. A file keeps the output, because a program that outlives the
/// command could keep a pipe open.
pub fn run(label: &str, mut command: Command, limit: Option<Duration>) -> Result<Ended> {
    let mut file = tempfile::tempfile().context("cannot keep the output")?;
    command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file.try_clone()?);
    let program = Program::tool(&mut command);
    let mut program = program.with_context(|| format!("{label}: cannot start the program"))?;
    let (bar, mut beats) = (spinner(label), 0);
    let status = loop {
        let status = program.0.try_wait()?;
        if status.is_some() || limit.is_some_and(|limit| bar.elapsed() > limit) {
            break status;
        }
        bar.set_message(last_line(&file).unwrap_or_default());
        if bar.is_hidden() && bar.elapsed() >= HEARTBEAT * (beats + 1) {
            beats += 1;
            eprintln!("  …     {label} ({} s so far)", bar.elapsed().as_secs());
        }
        std::thread::sleep(TICK);
    };
    drop(program);
    let mut output = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut output)?;
    Ok(Ended { status, output: String::from_utf8_lossy(&output).into_owned() })
}

/// The last line of a file that is being written.
fn last_line(file: &File) -> Option<String> {
    let mut end = [0; 200];
    let from = file.metadata().ok()?.len().saturating_sub(200);
    let length = file.read_at(&mut end, from).ok()?;
    Some(String::from_utf8_lossy(&end[..length]).trim().lines().last()?.to_owned())
}

/// A line with the latest output, below those of parallel programs. A log does not show it.
fn spinner(label: &str) -> ProgressBar {
    static BARS: LazyLock<MultiProgress> = LazyLock::new(MultiProgress::new);
    let bar = BARS.add(ProgressBar::new_spinner()).with_finish(ProgressFinish::AndClear);
    let style = "  {spinner} {prefix} {elapsed:.dim} {wide_msg:.dim}";
    if let Ok(style) = ProgressStyle::with_template(style) {
        bar.set_style(style);
    }
    bar.set_prefix(label.to_owned());
    bar.enable_steady_tick(2 * TICK);
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn the_reason_is_the_error_and_not_the_following_lines() {
        let trace =
            "echo begun; echo 'error: no home.'; echo 'stack:' >&2; echo '  1: main'; exit 1";
        for (script, output, reason) in [
            (trace, "begun\nerror: no home.\nstack:\n  1: main\n", "no home"),
            ("echo 'E: no package'; echo sorry; exit 1", "E: no package\nsorry\n", "no package"),
            ("exit 3", "", "exit status: 3"),
        ] {
            let ended = run("sh", sh(script), None).unwrap();
            assert_eq!((&*ended.output, &*ended.reason()), (output, reason));
        }
        assert!(run("none", Command::new("no-such-program-here"), None).is_err());
    }

    #[test]
    fn a_program_over_its_time_is_stopped() {
        let limit = Some(Duration::from_secs(5));
        let ended = run("sleep", sh("echo begun; exec sleep 600"), limit).unwrap();
        assert!(ended.status.is_none() && !ended.success());
        assert_eq!((&*ended.output, &*ended.reason()), ("begun\n", "it did not end in time"));
    }

    #[test]
    fn a_grandchild_that_keeps_the_pipe_open_does_not_block() {
        let ended = run("sh", sh("sleep 5 & echo one"), None).unwrap();
        assert!(ended.success());
        assert_eq!(ended.output, "one\n");
    }
}
