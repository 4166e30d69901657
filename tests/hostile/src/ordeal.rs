//! Runs a real client process against a hostile server for some seconds.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::{interval, sleep, timeout};

use crate::{Mood, Server, life};

const WORKERS: u64 = 4;
/// The time limits of an attempt and of a call.
const PATIENCE: Duration = Duration::from_secs(1);
const DEADLINE: Duration = Duration::from_secs(3);
/// How long an attempt in flight may take after the end of the run.
const GRACE: Duration = Duration::from_secs(2);

/// The number of seconds in which a client adapts.
const START: usize = 3;
/// The most calls per second to a server that serves none.
const MOST_THROTTLED: u64 = 50;
/// The highest share of a processor. A client above it spins.
const MOST_PROCESSOR: f64 = 0.25;
/// The highest memory use.
const MOST_MEMORY: u64 = 64 << 10;
/// The longest wait: two hours, one of which spreads a fleet; or a day and a quarter for a hinted
/// period.
const MOST_WAIT_US: u64 = 108_000 * 1_000_000;

/// The results of a client.
#[derive(Clone, Debug)]
pub struct Ordeal {
    /// The server's mood.
    pub mood: &'static str,
    /// Attempts that arrived at the server, and the most in one second after the start.
    pub attempts: u64,
    /// See [`attempts`](Self::attempts).
    pub busiest: u64,
    /// Calls that the client's workers made.
    pub calls: u64,
    /// Calls that ended with a response ...
    pub answered: u64,
    /// ... with an error, or at their deadline ...
    pub given_up: u64,
    /// ... and calls that had not ended at the end of the run: at most one per worker.
    pub unfinished: u64,
    /// The longest wait of a worker, in microseconds.
    pub longest_wait_us: u64,
    /// The client's share of a processor, if the system reports it.
    pub processor: Option<f64>,
    /// The client's largest resident memory in KiB, if the system reports it.
    pub memory_kib: Option<u64>,
}

/// The fields used here of a client's reports.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
struct Tally {
    calls: u64,
    answered: u64,
    given_up: u64,
    wait_us: u64,
}

/// The client to test, and for how long.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The program of tools/live.
    pub program: PathBuf,
    /// Its law.
    pub law: String,
    /// How long it calls.
    pub time: Duration,
}

impl Plan {
    /// Runs a client against this mood.
    ///
    /// # Errors
    /// A sentence that says which promise was violated, or what failed to start.
    pub async fn undergo(&self, mood: Mood) -> Result<Ordeal> {
        let server = Server::open(mood, Vec::new()).await?;
        let mut child = self.start(&server)?;
        let (mut input, output) = (child.stdin.take(), child.stdout.take());
        let said = tokio::spawn(read(output.context("the client has no output")?));
        if let Some(input) = &mut input {
            input.write_all(b"go\n").await.context("the client does not start")?;
        }
        let process = child.id().context("the client ended at once")?;
        let begun = life::processor(process);
        let memory = watch(process, self.time).await;
        let processor = life::processor(process).zip(begun).map(|(end, begun)| end - begun);
        drop(input);
        let (tally, longest_wait_us) = self.farewell(mood, &mut child, said).await?;
        let seconds = server.calls(mood);
        // The last second is incomplete.
        let settled = seconds.get(START..).unwrap_or_default();
        let ordeal = Ordeal {
            mood: mood.name,
            attempts: seconds.iter().sum(),
            busiest: settled.iter().copied().max().unwrap_or(0),
            calls: tally.calls,
            answered: tally.answered,
            given_up: tally.given_up,
            unfinished: tally.calls.saturating_sub(tally.answered + tally.given_up),
            longest_wait_us,
            processor: processor.map(|time| time.as_secs_f64() / self.time.as_secs_f64()),
            memory_kib: memory,
        };
        ordeal.judge(mood, self.time).with_context(|| format!("{}: {ordeal:?}", mood.name))?;
        closed(&server).await.with_context(|| mood.name)?;
        Ok(ordeal)
    }

    fn start(&self, server: &Server) -> Result<Child> {
        let time = |time: Duration| format!("{}ms", time.as_millis());
        Command::new(&self.program)
            .args(["client", "--number", "1", "--seed", "7", "--law", &self.law])
            .args(["--address", &server.address().to_string()])
            .args(["--workers", &WORKERS.to_string(), "--grace", &time(GRACE)])
            .args(["--patience", &time(PATIENCE), "--deadline", &time(DEADLINE)])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("cannot start {}", show(&self.program)))
    }

    /// The client's last counts, after it has ended without an error.
    async fn farewell(
        &self,
        mood: Mood,
        child: &mut Child,
        said: tokio::task::JoinHandle<(Tally, u64)>,
    ) -> Result<(Tally, u64)> {
        let ended = timeout(GRACE + Duration::from_secs(10), child.wait()).await;
        let status = ended.with_context(|| format!("{}: the client does not end", mood.name))??;
        let mut errors = String::new();
        if let Some(mut stderr) = child.stderr.take() {
            stderr.read_to_string(&mut errors).await?;
        }
        ensure!(status.success() && errors.is_empty(), "{}: {status}: {errors}", mood.name);
        Ok(said.await?)
    }
}

impl Ordeal {
    fn judge(&self, mood: Mood, time: Duration) -> Result<()> {
        ensure!(self.attempts > 0, "no call arrived");
        ensure!(self.unfinished <= WORKERS, "calls were lost");
        // Each call takes at most its deadline.
        let least = WORKERS * (time.as_secs() / DEADLINE.as_secs()).saturating_sub(1);
        ensure!(self.answered + self.given_up >= least, "calls do not end");
        ensure!(mood.serves() || self.busiest <= MOST_THROTTLED, "the client calls too often");
        ensure!(self.longest_wait_us <= MOST_WAIT_US, "the client is stopped");
        if !mood.serves() {
            ensure!(
                self.processor.is_none_or(|part| part <= MOST_PROCESSOR),
                "the client uses too much processor time"
            );
        }
        ensure!(
            self.memory_kib.is_none_or(|memory| memory <= MOST_MEMORY),
            "the client uses too much memory"
        );
        Ok(())
    }
}

/// Checks that no connection remains when the client has ended.
async fn closed(server: &Server) -> Result<()> {
    for _ in 0..100 {
        if server.connections() == 0 {
            return Ok(());
        }
        sleep(Duration::from_millis(50)).await;
    }
    anyhow::bail!("{} connections remain open", server.connections())
}

/// Observes a process for this time, and returns its highest memory use.
async fn watch(process: u32, time: Duration) -> Option<u64> {
    let (mut ticks, mut most) = (interval(Duration::from_millis(100)), None);
    let looks = async {
        loop {
            ticks.tick().await;
            most = most.max(life::memory(process));
        }
    };
    let _ = timeout(time, looks).await;
    most
}

/// The last counts, and the longest of all waits.
async fn read(output: ChildStdout) -> (Tally, u64) {
    let mut lines = BufReader::new(output).lines();
    let (mut latest, mut longest) = (Tally::default(), 0);
    while let Ok(Some(line)) = lines.next_line().await {
        if let Ok(tally) = serde_json::from_str::<Tally>(&line) {
            (latest, longest) = (tally, longest.max(tally.wait_us));
        }
    }
    (latest, longest)
}

fn show(path: &Path) -> String {
    path.display().to_string()
}
