//! `uplink`: 200 batches through a server of five calls a second that is down for 20 s and has
//! another caller, over a link that is lost for 5 s.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::cable::Cable;
use crate::children::Program;
use crate::firmware::{Board, Run, numbers, told};
use crate::programs;

/// It takes a minute and a half; a busy machine takes longer.
const LIMIT: Duration = Duration::from_secs(240);

const BATCHES: u64 = 200;
/// The maximum percentage of throttled calls. Two to four are usual; the rest allows for bursts of
/// other callers.
const THROTTLED: u64 = 8;

/// When another caller calls as fast as the server answers, and for how long. This is after the
/// outage: before it, the server can serve at most 80.
const CROWDED_AT: [&str; 2] = ["uplink: 100 of", "uplink: 160 of"];
const CROWDED_FOR: Duration = Duration::from_secs(1);
/// How long the server may take to answer the other caller, which delays the log.
const PATIENCE: Duration = Duration::from_secs(2);

/// When the link is lost: after the board's log has reached this.
const LOST_AT: &str = "uplink: 120 of";
const LOST_FOR: Duration = Duration::from_secs(5);

/// With a server that sends what is left, in one header family or another.
pub fn told_more(board: Board, folder: &Path) -> Result<String> {
    let hints = match board {
        Board::Virt => "discord",
        Board::Microbit | Board::Mps2 => "openai",
    };
    run("uplink", hints, board, folder)
}

/// With a server that sends only Retry-After with a throttled call.
pub fn told_least(board: Board, folder: &Path) -> Result<String> {
    run("uplink, Retry-After alone", "retry-after", board, folder)
}

/// Runs it, and compares the board's log with the server's counts. Returns the figures.
fn run(name: &str, hints: &str, board: Board, folder: &Path) -> Result<String> {
    let server = Server::start(hints)?;
    let mut others = [0; 3];
    let cable = Cable::new(board, 80, server.port);
    let run = Run { name, board, folder, image: "uplink", options: cable.options()?, limit: LIMIT };
    let log = run.to_its_end(|line| {
        if line.contains(LOST_AT) {
            cable.lose(LOST_FOR);
        }
        if CROWDED_AT.iter().any(|at| line.contains(at)) {
            crowd(server.port, &mut others);
        }
    })?;
    let (counts, works) = server.counts()?;
    let counts = std::array::from_fn(|result| counts[result] - others[result]);
    judge(&log, counts, &works).with_context(|| format!("the log:\n{log}"))
}

/// The results of calls, as the server names them, and their statuses.
const RESULTS: [(&str, &str); 3] = [("served", "200"), ("throttled", "429"), ("outage", "503")];

/// How often the server has served each batch, by the board's number for it.
type Works = BTreeMap<u64, u64>;

/// Nothing is lost, and nothing is served twice unless its answer was lost. Returns the figures.
fn judge(log: &str, counts: [u64; 3], works: &Works) -> Result<String> {
    let [served, throttled, outage] = counts;
    let end = told(log, "uplink: 200 delivered");
    let end = numbers(end.first().context("the board does not say that all are delivered")?)?;
    let [delivered, _dropped, unanswered, in_holds] = end[..] else {
        bail!("unexpected last line of the board: {end:?}");
    };
    ensure!(delivered == BATCHES, "{delivered} batches delivered, not {BATCHES}");
    ensure!(in_holds == 0, "{in_holds} calls have been sent while the server had asked for none");

    ensure!(works.keys().copied().eq(1..=BATCHES), "the server has served others: {works:?}");
    ensure!(works.values().sum::<u64>() == served, "it has served an unknown batch");
    let mut lost = Works::new();
    for line in told(log, "uplink: no answer for batch ") {
        *lost.entry(numbers(line)?[0]).or_default() += 1;
    }
    ensure!(lost.values().sum::<u64>() == unanswered, "the board's log is not whole");
    for (batch, times) in works {
        let lost = lost.get(batch).copied().unwrap_or(0);
        ensure!(
            times - 1 <= lost,
            "the server has served batch {batch} {times} times, and {lost} of its answers were lost: \
             it was sent again for nothing"
        );
    }

    ensure!(outage > 0, "the server was never down: the run was too short to show anything");
    ensure!(throttled > 0, "the server has throttled nothing: the run shows nothing");
    ensure!(!told(log, "uplink: the link is down").is_empty(), "the link was never lost");
    let decided = served + throttled;
    let share = format!("{throttled} of {decided} calls throttled");
    ensure!(throttled * 100 <= decided * THROTTLED, "{share}: more than {THROTTLED} %");
    let twice = served - BATCHES;
    Ok(format!(
        "{BATCHES} batches served, {twice} of them again after {unanswered} calls without an answer; \
         {share} ({}.{} %)",
        throttled * 100 / decided,
        throttled * 1_000 / decided % 10
    ))
}

/// The real server of tools/live, on a free port of the loopback interface.
struct Server {
    _program: Program,
    port: u16,
}

impl Server {
    /// `hints` is the header family; all send Retry-After with a throttled call.
    fn start(hints: &str) -> Result<Self> {
        let program = programs::path(programs::LIVE);
        let mut command = Command::new(&program);
        command.args(["serve", "--limit", "5", "--burst", "5", "--outage", "15s..35s"]);
        command.args(["--hints", hints]);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut server = Program::tool(&mut command)
            .with_context(|| format!("{} does not start", program.display()))?;
        let mut line = String::new();
        let output = server.0.stdout.take().context("the server has no output")?;
        BufReader::new(output).read_line(&mut line)?;
        let port = line.split(['/', ' ', ':']).find_map(|word| word.parse().ok());
        let port = port.with_context(|| format!("the server does not say its port: {line}"))?;
        Ok(Self { _program: server, port })
    }

    /// Requests its counts.
    fn counts(&self) -> Result<([u64; 3], Works)> {
        let answer = get(self.port, "/counts")?;
        let (_, body) = answer.split_once("\r\n\r\n").context("no response")?;
        let told: Value = serde_json::from_str(body).with_context(|| answer.clone())?;
        let callers = told["callers"].as_array().context("the server counts no callers")?;
        let counts = RESULTS
            .map(|(name, _)| callers.iter().filter_map(|caller| caller[name].as_u64()).sum());
        let works = told["works"].as_object().context("the server does not count by key")?;
        let works = works.iter().map(|(key, work)| {
            let times = work["served"].as_u64().context("the server does not count by key")?;
            Ok((key.parse()?, times))
        });
        Ok((counts, works.collect::<Result<_>>()?))
    }
}

/// Another caller, which shares the server's limit with the board, calls as fast as the server answers.
fn crowd(port: u16, counts: &mut [u64; 3]) {
    let since = Instant::now();
    while since.elapsed() < CROWDED_FOR {
        let Ok(answer) = get(port, "/") else { continue };
        let status = answer.split(' ').nth(1).unwrap_or_default();
        if let Some(result) = RESULTS.iter().position(|result| result.1 == status) {
            counts[result] += 1;
        }
    }
}

/// The complete response.
fn get(port: u16, path: &str) -> Result<String> {
    let mut stream = TcpStream::connect_timeout(&(Ipv4Addr::LOCALHOST, port).into(), PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: api\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}
