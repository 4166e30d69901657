//! `uplink`: 200 batches through a server of five calls a second that is down for 20 s and has
//! another caller, over a link that is lost for 5 s.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tidegate_boards::{Board, Program, Run, numbers, told};

use crate::cable::Cable;

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

/// The results of calls, as the server names them, and their statuses.
const RESULTS: [(&str, &str); 3] = [("served", "200"), ("throttled", "429"), ("outage", "503")];

#[test]
fn batches_reach_a_server_that_says_what_is_left() {
    run(Board::Mps2, "openai");
}

#[test]
fn batches_reach_a_server_that_sends_only_retry_after_on_risc_v() {
    run(Board::Virt, "retry-after");
}

/// Runs it with a server that sends these hints, and compares the board's log with the server's counts. Nothing is
/// lost, and nothing is served twice unless its answer was lost.
fn run(board: Board, hints: &str) {
    // Before the server starts, because its outage has a time.
    let image = board.build("uplink");
    let server = Server::start(hints);
    let mut others = [0; 3];
    let cable = Cable::new(board, 80, server.port);
    // It takes a minute and a half; a busy machine takes longer.
    let limit = Duration::from_secs(240);
    let run = Run { image, options: cable.options(), limit };
    let log = run.to_its_end(|line| {
        if line.contains(LOST_AT) {
            cable.lose(LOST_FOR);
        }
        if CROWDED_AT.iter().any(|at| line.contains(at)) {
            crowd(server.port, &mut others);
        }
    });
    let (counts, works) = server.counts();
    let [served, throttled, outage] = std::array::from_fn(|result| counts[result] - others[result]);

    let end = told(&log, "uplink: 200 delivered");
    let end = numbers(end.first().expect("the board does not say that all are delivered"));
    let [delivered, _dropped, unanswered, in_holds] = end[..] else {
        panic!("unexpected last line of the board: {end:?}");
    };
    assert_eq!(delivered, BATCHES, "{log}");
    assert_eq!(in_holds, 0, "calls have been sent while the server had asked for none:\n{log}");

    assert!(works.keys().copied().eq(1..=BATCHES), "the server has served others: {works:?}");
    assert_eq!(works.values().sum::<u64>(), served, "it has served an unknown batch");
    let mut lost = BTreeMap::new();
    for line in told(&log, "uplink: no answer for batch ") {
        *lost.entry(numbers(line)[0]).or_default() += 1;
    }
    assert_eq!(lost.values().sum::<u64>(), unanswered, "the board's log is not whole:\n{log}");
    for (batch, times) in &works {
        let lost = lost.get(batch).copied().unwrap_or(0);
        assert!(
            times - 1 <= lost,
            "the server has served batch {batch} {times} times, and {lost} of its answers were lost: \
             it was sent again for nothing:\n{log}"
        );
    }

    assert!(outage > 0, "the server was never down: the run was too short to show anything");
    assert!(throttled > 0, "the server has throttled nothing: the run shows nothing");
    assert!(!told(&log, "uplink: the link is down").is_empty(), "the link was never lost");
    let decided = served + throttled;
    assert!(
        throttled * 100 <= decided * THROTTLED,
        "{throttled} of {decided} calls throttled: more than {THROTTLED} %:\n{log}"
    );
}

/// The real server of tools/live, on a free port of the loopback interface.
struct Server {
    _program: Program,
    port: u16,
}

impl Server {
    /// `hints` is the header family; all send Retry-After with a throttled call.
    fn start(hints: &str) -> Self {
        let program = std::env::var_os("TIDEGATE_LIVE");
        let program = program.expect("TIDEGATE_LIVE names no server: `cargo xtask test embedded`");
        let mut command = Command::new(program);
        command.args(["serve", "--limit", "5", "--burst", "5", "--outage", "15s..35s"]);
        command.args(["--hints", hints]);
        let mut server = Program::start(command.stdin(Stdio::null()).stdout(Stdio::piped()));
        let mut line = String::new();
        BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port = line.split(['/', ' ', ':']).find_map(|word| word.parse().ok());
        let port = port.unwrap_or_else(|| panic!("the server does not say its port: {line}"));
        Self { _program: server, port }
    }

    /// Requests its counts, and how often it has served each batch, by the board's number for it.
    fn counts(&self) -> ([u64; 3], BTreeMap<u64, u64>) {
        let answer = get(self.port, "/counts").unwrap();
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        let told: Value = serde_json::from_str(body).unwrap();
        let callers = told["callers"].as_array().unwrap();
        let counts = RESULTS
            .map(|(name, _)| callers.iter().filter_map(|caller| caller[name].as_u64()).sum());
        let works = told["works"].as_object().unwrap().iter();
        let works = works.map(|(key, it)| (key.parse().unwrap(), it["served"].as_u64().unwrap()));
        (counts, works.collect())
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

fn get(port: u16, path: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&(Ipv4Addr::LOCALHOST, port).into(), PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: api\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}
