//! Runs other programs quietly: keeps their output and shows progress.

use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::fs::FileExt;
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use indicatif::{MultiProgress, ProgressBar, ProgressFinish, ProgressStyle};

use crate::children::Program;

/// How often a line is written to a log, which cannot show a spinner.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// How often the program's end, the time limit and the heartbeat are checked.
const TICK: Duration = Duration::from_millis(50);

pub struct Ended {
    pub success: bool,
    /// Its stdout and stderr in the order of writing.
    pub output: String,
}

/// Runs a command that must succeed, and returns its output.
pub fn step(label: &str, command: Command) -> Result<String> {
    step_within(Duration::MAX, label, command)
}

/// The same, for a command that must end before `limit`.
pub fn step_within(limit: Duration, label: &str, command: Command) -> Result<String> {
    let ended = run(label, command, limit)?;
    ensure!(ended.success, "{label} failed\n{}", ended.output);
    Ok(ended.output)
}

/// Runs `command` to its end, or until `limit` is over. A file keeps the output, because a program that outlives the
/// command could keep a pipe open.
pub fn run(label: &str, mut command: Command, limit: Duration) -> Result<Ended> {
    let mut file = tempfile::tempfile().context("cannot keep the output")?;
    command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file.try_clone()?);
    let program = Program::tool(&mut command);
    let mut program = program.with_context(|| format!("{label}: cannot start the program"))?;
    let (bar, mut beats) = (spinner(label), 0);
    let status = loop {
        let status = program.0.try_wait()?;
        if status.is_some() || bar.elapsed() > limit {
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
    let mut output = String::from_utf8_lossy(&output).into_owned();
    if status.is_none() {
        output.push_str("(it did not end in time)\n");
    }
    Ok(Ended { success: status.is_some_and(|status| status.success()), output })
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
    fn all_output_of_a_failed_step_is_in_its_error() {
        let error = step("sh", sh("echo one; echo two >&2; echo three; exit 3")).unwrap_err();
        assert_eq!(error.to_string(), "sh failed\none\ntwo\nthree\n");
        assert!(step("none", Command::new("no-such-program-here")).is_err());
    }

    #[test]
    fn a_program_over_its_time_is_stopped() {
        let sleep = sh("echo begun; exec sleep 600");
        let ended = run("sleep", sleep, Duration::from_secs(5)).unwrap();
        assert_eq!((ended.success, &*ended.output), (false, "begun\n(it did not end in time)\n"));
    }

    #[test]
    fn a_grandchild_that_keeps_the_pipe_open_does_not_block() {
        assert_eq!(step("sh", sh("sleep 5 & echo one")).unwrap(), "one\n");
    }
}
