//! Runs other programs quietly: keeps their output and shows progress.

use std::io::{self, BufRead, BufReader, IsTerminal};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::LazyLock;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use crate::children::Program;

/// How often a line is written to a log, which cannot show a spinner.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// How often the program's end, the time limit and the heartbeat are checked.
const TICK: Duration = Duration::from_millis(100);
/// How long output may arrive after a program's end.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// How a program ended.
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

/// Runs `command` to its end, or until `limit` is over.
pub fn run(label: &str, command: Command, limit: Option<Duration>) -> io::Result<Ended> {
    watch(label, command, Stdio::null(), limit, |_| ())
}

/// The same with `input` on stdin; `see` receives each line of output.
pub fn watch(
    label: &str,
    mut command: Command,
    input: Stdio,
    limit: Option<Duration>,
    mut see: impl FnMut(&str),
) -> io::Result<Ended> {
    let (reader, writer) = io::pipe()?;
    command.stdin(input).stdout(writer.try_clone()?).stderr(writer);
    let mut program = Program::tool(&mut command)?;
    let child = &mut program.0;
    drop(command); // its ends of the pipe would keep the reader waiting

    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(reader).split(b'\n').map_while(Result::ok) {
            if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                break;
            }
        }
    });

    let mut life = Life::new(label);
    let mut output = String::new();
    let mut exited = None;
    let mut quiet = Duration::ZERO;
    let status = loop {
        match lines.recv_timeout(TICK) {
            Ok(line) => {
                life.show(&line);
                see(&line);
                output.push_str(&line);
                output.push('\n');
            }
            Err(RecvTimeoutError::Disconnected) => break Some(child.wait()?),
            // A grandchild may hold the pipe open forever, so the child's end counts, and a short
            // time after it for its last output.
            Err(RecvTimeoutError::Timeout) if quiet >= LAST_WORDS => break exited,
            Err(RecvTimeoutError::Timeout) if exited.is_some() => quiet += TICK,
            Err(RecvTimeoutError::Timeout) => exited = child.try_wait()?,
        }
        if exited.is_none() && limit.is_some_and(|limit| life.since.elapsed() > limit) {
            child.kill()?;
            child.wait()?;
            break None;
        }
        life.beat();
    };
    Ok(Ended { status, output })
}

/// All spinners, so that parallel programs have a line each.
static BARS: LazyLock<MultiProgress> = LazyLock::new(MultiProgress::new);

/// Shows progress: a spinner with the latest line on a terminal, or a line now and then in a log.
struct Life<'a> {
    label: &'a str,
    since: Instant,
    beats: u32,
    bar: Option<ProgressBar>,
}

impl<'a> Life<'a> {
    fn new(label: &'a str) -> Self {
        let bar = io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new_spinner().with_prefix(label.to_owned());
            if let Ok(style) =
                ProgressStyle::with_template("  {spinner} {prefix} {elapsed:.dim} {wide_msg:.dim}")
            {
                bar.set_style(style);
            }
            bar.enable_steady_tick(TICK);
            BARS.add(bar)
        });
        Self { label, since: Instant::now(), beats: 0, bar }
    }

    fn show(&self, line: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(line.trim().to_owned());
        }
    }

    fn beat(&mut self) {
        let elapsed = self.since.elapsed();
        if self.bar.is_none() && elapsed >= HEARTBEAT * (self.beats + 1) {
            self.beats += 1;
            eprintln!("  …     {} ({} s so far)", self.label, elapsed.as_secs());
        }
    }
}

impl Drop for Life<'_> {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn sh(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn both_streams_are_kept_in_the_order_of_writing() {
        let ended = run("sh", sh("echo one; echo two >&2; echo three; exit 3"), None).unwrap();
        assert_eq!(ended.output, "one\ntwo\nthree\n");
        assert_eq!(ended.status.and_then(|status| status.code()), Some(3));
        assert_eq!(ended.reason(), "three");
    }

    #[test]
    fn the_reason_is_the_error_and_not_the_following_lines() {
        let reason = |script| run("sh", sh(script), None).unwrap().reason();
        let trace = "echo begun; echo 'error: no home.'; echo 'stack:'; echo '  1: main'; exit 1";
        assert_eq!(reason(trace), "no home");
        assert_eq!(
            reason("echo 'E: no such package'; echo; echo sorry; exit 1"),
            "no such package"
        );
        assert_eq!(reason("exit 3"), "exit status: 3");
    }

    #[test]
    fn a_program_over_its_time_is_stopped() {
        let limit = Some(Duration::from_secs(5));
        let ended = run("sleep", sh("echo begun; exec sleep 600"), limit).unwrap();
        assert!(ended.status.is_none() && !ended.success());
        assert_eq!(ended.output, "begun\n");
        assert_eq!(ended.reason(), "it did not end in time");
    }

    #[test]
    fn the_input_is_passed_and_each_line_of_output_is_seen() {
        let (reader, mut writer) = io::pipe().unwrap();
        writer.write_all(b"one\ntwo\n").unwrap();
        drop(writer);
        let mut seen = Vec::new();
        let ended = watch("cat", sh("cat"), reader.into(), None, |line| seen.push(line.to_owned()));
        assert_eq!(ended.unwrap().output, "one\ntwo\n");
        assert_eq!(seen, ["one", "two"]);
    }

    #[test]
    fn a_grandchild_that_keeps_the_pipe_open_does_not_block() {
        let ended = run("sh", sh("sleep 5 & echo done"), None).unwrap();
        assert!(ended.success());
        assert_eq!(ended.output, "done\n");
    }

    #[test]
    fn a_program_that_does_not_exist_is_an_error() {
        assert!(run("none", Command::new("no-such-program-here"), None).is_err());
    }
}
