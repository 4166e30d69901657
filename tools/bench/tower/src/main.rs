//! Compares tidegate-tower with other rate limiters and retries: ten servers on loopback, a high
//! rate, and the cost of a call. `cargo xtask bench tower` runs it.

mod cases;
mod clients;
mod cost;
mod load;
mod page;
mod server;
mod speed;

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result};
use tokio::runtime::Builder;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use cases::{CASES, Case};
use clients::Who;
use load::Took;
use server::{Limit, Server};

/// Runs per client and server. The median counts.
const RUNS: usize = 3;
/// Runs in parallel. They mostly wait.
const AT_ONCE: usize = 16;

#[derive(Clone, Copy, Debug)]
pub struct Run {
    pub case: usize,
    pub who: Who,
    pub took: Took,
    pub rejected: u32,
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tidegate-tower-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let file = std::env::args().nth(1).context("name the file to write")?;
    // Each concurrent call has a connection with two ends.
    rlimit::increase_nofile_limit(u64::MAX)?;
    let one_thread = Builder::new_current_thread().enable_all().build()?;
    let costs = one_thread.block_on(cost::measure())?;
    let threads = Builder::new_multi_thread().enable_all().build()?;
    let speeds = threads.block_on(speed::measure())?;
    let runs = threads.block_on(servers())?;
    let page = page::Page { runs: &runs, speeds: &speeds, costs: &costs };
    std::fs::write(&file, page.text()).with_context(|| format!("{file} cannot be written"))
}

async fn servers() -> Result<Vec<Run>> {
    let places = Arc::new(Semaphore::new(AT_ONCE));
    let mut tasks = JoinSet::new();
    for (number, case) in CASES.iter().enumerate() {
        for who in [Who::ALL; RUNS].concat() {
            let places = places.clone();
            tasks.spawn(async move {
                let _place = places.acquire_owned().await?;
                meet(number, case, who).await
            });
        }
    }
    let (all, mut runs) = (tasks.len(), Vec::new());
    while let Some(run) = tasks.join_next().await {
        let run = run??;
        runs.push(run);
        let (Case { server, load, .. }, Took { seconds, lost }) = (CASES[run.case], run.took);
        eprintln!(
            "{} of {all}: {server}, {load}, {}: {seconds:.1} s, {} rejected, {lost} lost",
            runs.len(),
            run.who.name(),
            run.rejected,
        );
    }
    Ok(runs)
}

async fn meet(number: usize, case: &Case, who: Who) -> Result<Run> {
    let counts_tokens = matches!(case.limit, Limit::Model { .. });
    let client = who.client(case.rate, counts_tokens)?;
    let server = Server::start(case.limit, case.latency).await?;
    let took = load::drive(case.calls, client, &server.url).await?;
    Ok(Run { case: number, who, took, rejected: server.rejected() })
}
