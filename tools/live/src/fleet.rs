//! The processes of the fleet. Each runs this binary and is controlled over pipes.

use crate::tally::Tally;
use anyhow::{Context, Result, bail};
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// The longest wait that the histogram distinguishes.
const LONGEST_WAIT_US: u64 = 24 * 3600 * 1_000_000;

/// What is known of one process: its latest counts and all its waits.
#[derive(Clone, Debug)]
pub struct Member {
    pub tally: Tally,
    pub waits_us: Histogram<u64>,
}

impl Member {
    fn new() -> Result<Self> {
        let waits_us = Histogram::new_with_bounds(1, LONGEST_WAIT_US, 3)?;
        Ok(Member { tally: Tally::default(), waits_us })
    }

    fn learn(&mut self, mut line: Tally) {
        for wait in line.waits_us.drain(..) {
            self.waits_us.saturating_record(wait);
        }
        self.tally = line;
    }
}

/// What a process is told. It knows nothing else.
#[derive(Clone, Deserialize, Serialize)]
pub struct Plan {
    pub address: SocketAddr,
    pub number: usize,
    pub law: String,
    pub workers: usize,
    pub seed: u64,
    /// How long calls in flight may take after the run is over.
    pub grace: Duration,
    /// The folder of the shared budget, if there is one.
    pub share: Option<PathBuf>,
}

/// A running fleet. Dropping it kills its processes. [`Fleet::stop`] lets them finish.
pub struct Fleet {
    processes: Vec<Process>,
    grace: Duration,
}

struct Process {
    child: Child,
    /// Closing this ends the process.
    input: ChildStdin,
    known: Arc<Mutex<Member>>,
    reader: JoinHandle<()>,
}

impl Fleet {
    /// Starts so many processes, and returns when all are ready.
    pub async fn start(mut plan: Plan, count: usize) -> Result<Self> {
        let mut processes = Vec::new();
        for _ in 0..count {
            plan.number += 1;
            processes.push(Process::start(&plan).await?);
            // Equal seeds would synchronise the fleet.
            plan.seed = plan.seed.wrapping_add(1);
        }
        let mut ready = Vec::new();
        for (child, output) in processes {
            ready.push(Process::greet(child, output).await?);
        }
        Ok(Fleet { processes: ready, grace: plan.grace })
    }

    pub async fn go(&mut self) -> Result<()> {
        for process in &mut self.processes {
            process
                .input
                .write_all(b"go\n")
                .await
                .context("a client ended before the run began")?;
            process.input.flush().await?;
        }
        Ok(())
    }

    pub fn members(&self) -> Vec<Member> {
        self.processes.iter().map(|process| lock(&process.known).clone()).collect()
    }

    /// Ends the run: waits for calls in flight, then collects the last counts of every process.
    pub async fn stop(self) -> Vec<Member> {
        let mut leaving = Vec::new();
        for Process { child, input, known, reader } in self.processes {
            drop(input);
            leaving.push((child, known, reader));
        }
        let patience = self.grace + Duration::from_secs(2);
        let mut members = Vec::new();
        for (mut child, known, reader) in leaving {
            let gone = async { (reader.await, child.wait().await) };
            if timeout(patience, gone).await.is_err() {
                // The process is killed and reaped here. Its missing counts show as lost calls.
                let _ = child.kill().await;
            }
            members.push(lock(&known).clone());
        }
        members
    }
}

type Output = Lines<BufReader<ChildStdout>>;

impl Process {
    async fn start(plan: &Plan) -> Result<((Child, ChildStdin), Output)> {
        // On Linux this path works even if the file was rebuilt during the run.
        let itself = PathBuf::from("/proc/self/exe");
        let binary = if itself.exists() { Ok(itself) } else { std::env::current_exe() };
        let binary = binary.context("cannot find the path of this program")?;
        let mut child = Command::new(binary)
            .arg("client")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            // A terminal signals its whole foreground group. A client ends when its standard input
            // closes instead, so that it reports its last counts.
            .process_group(0)
            .spawn()
            .context("cannot start a client process")?;
        let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            bail!("a client process has no pipes");
        };
        let line = serde_json::to_string(plan)? + "\n";
        input.write_all(line.as_bytes()).await.context("a client ended at once")?;
        Ok(((child, input), BufReader::new(output).lines()))
    }

    /// Waits for the first line, which says that the process is ready, then keeps reading.
    async fn greet((child, input): (Child, ChildStdin), mut output: Output) -> Result<Self> {
        match timeout(Duration::from_secs(60), output.next_line()).await {
            Ok(Ok(Some(_))) => {}
            Ok(_) => bail!("a client process ended before it was ready"),
            Err(_) => bail!("a client process was not ready within a minute"),
        }
        let known = Arc::new(Mutex::new(Member::new()?));
        let reader = tokio::spawn(read(output, known.clone()));
        Ok(Process { child, input, known, reader })
    }
}

async fn read(mut output: Output, known: Arc<Mutex<Member>>) {
    while let Ok(Some(line)) = output.next_line().await {
        // A line that was cut off at the end of the process is ignored.
        if let Ok(line) = serde_json::from_str(&line) {
            lock(&known).learn(line);
        }
    }
}

fn lock(known: &Mutex<Member>) -> MutexGuard<'_, Member> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}
