//! One process of the fleet: several workers that share a gate.
//!
//! Standard input controls it: the process reads its plan, starts its calls on command, and exits when the input closes,
//! so it never outlives its parent.

use crate::fleet::Plan;
use crate::server::CALLER;
use crate::tally::Tally;
use anyhow::{Context, Result};
use axum::body::Bytes;
use axum::http::Request;
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::Client as Http;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use std::io::{BufRead, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tidegate::{Outcome, Policy, Reply};
use tidegate_tower::local::Share;
use tidegate_tower::{Gate, read};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{interval, sleep, timeout};

/// The state of the run, as reported by the parent process.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
enum Phase {
    Ready,
    Running,
    Over,
}

/// Runs one process of the fleet until its standard input closes.
#[tokio::main(flavor = "current_thread")]
pub async fn run() -> Result<()> {
    let mut plan = String::new();
    std::io::stdin().read_line(&mut plan)?;
    let plan: Plan = serde_json::from_str(&plan)?;
    let phase = listen();
    // A call is repeated until it succeeds or the run ends.
    let mut gate = Gate::builder(plan.law.parse::<Policy>()?.attempts(None));
    if let Some(folder) = &plan.share {
        gate = gate.share(Share::new("default").folder(folder))?;
    }
    let workers = u32::try_from(plan.workers).unwrap_or(u32::MAX);
    let gate = gate.seed(plan.seed).queue(workers).build();
    let office = Arc::new(Office::open(&plan, gate));
    office.report()?;

    let mut workers = JoinSet::new();
    for _ in 0..plan.workers {
        workers.spawn(work(office.clone(), phase.clone()));
    }
    let grace = plan.grace;
    let done = async {
        reached(&phase, Phase::Over).await;
        // Calls in flight may finish. Workers that wait have stopped.
        let _ = timeout(grace, async { while workers.join_next().await.is_some() {} }).await;
        let _ = timeout(grace, office.gate.close()).await;
    };
    let reports = async {
        let mut ticks = interval(Duration::from_millis(100));
        loop {
            ticks.tick().await;
            office.report()?;
        }
    };
    tokio::select! {
        () = done => office.report(),
        failed = reports => failed,
    }
}

/// Reads standard input on a separate thread, because a blocking read cannot be cancelled.
fn listen() -> watch::Receiver<Phase> {
    let (tell, phase) = watch::channel(Phase::Ready);
    std::thread::spawn(move || {
        let mut input = std::io::stdin().lock();
        if input.read_line(&mut String::new()).is_ok_and(|length| length > 0) {
            tell.send_replace(Phase::Running);
            let _ = input.read_to_end(&mut Vec::new());
        }
        tell.send_replace(Phase::Over);
    });
    phase
}

async fn reached(phase: &watch::Receiver<Phase>, wanted: Phase) {
    // The sender sends `Over` before it is dropped.
    let _ = phase.clone().wait_for(|now| *now >= wanted).await;
}

/// State that the workers of a process share.
struct Office {
    gate: Gate,
    http: Http<HttpConnector, Empty<Bytes>>,
    address: String,
    number: usize,
    is_shared: bool,
    tally: Mutex<Tally>,
}

/// How long a worker pauses after a call was rejected immediately.
const REST: Duration = Duration::from_millis(50);

impl Office {
    fn open(plan: &Plan, gate: Gate) -> Self {
        Office {
            gate,
            http: Http::builder(TokioExecutor::new()).build_http(),
            address: format!("http://{}/", plan.address),
            number: plan.number,
            is_shared: plan.share.is_some(),
            tally: Mutex::default(),
        }
    }

    fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn report(&self) -> Result<()> {
        // A call that would be rejected does not wait.
        let wait = self.gate.peek().unwrap_or_default();
        let wait_us = u64::try_from(wait.as_micros()).unwrap_or(u64::MAX);
        let line = Tally { wait_us, ..self.tally().line() };
        let mut line = serde_json::to_vec(&line)?;
        line.push(b'\n');
        let mut out = std::io::stdout().lock();
        out.write_all(&line)
            .and_then(|()| out.flush())
            .context("the parent process closed the pipe")
    }

    async fn send(&self) -> Reply {
        let request = Request::get(&self.address).header(CALLER, self.number);
        let Ok(request) = request.body(Empty::new()) else { return Outcome::Failed.into() };
        let Ok(response) = self.http.request(request).await else { return Outcome::Failed.into() };
        let (head, body) = response.into_parts();
        // The body is read to its end so that the connection can be reused.
        if body.collect().await.is_err() {
            return Outcome::Failed.into();
        }
        let answer = read(head.status, &head.headers);
        self.tally().ignored += u64::from(answer.ignored);
        answer.into()
    }
}

async fn work(office: Arc<Office>, phase: watch::Receiver<Phase>) {
    reached(&phase, Phase::Running).await;
    while *phase.borrow() < Phase::Over {
        office.tally().calls += 1;
        call(&office, &phase).await;
    }
}

/// Makes one logical call: attempts until one succeeds or the run ends.
async fn call(office: &Office, phase: &watch::Receiver<Phase>) {
    let asked = Instant::now();
    let mut turn = office.gate.call().idempotent().acquire();
    loop {
        let permit = tokio::select! {
            biased;
            () = reached(phase, Phase::Over) => return,
            permit = turn => permit,
        };
        let Ok(permit) = permit else { break };
        let sent = asked.elapsed();
        let reply = office.send().await;
        let next = permit.retry(reply);
        let mut tally = office.tally();
        tally.steered_by(office.gate.stats().basis);
        match next {
            Ok(next) => turn = next,
            Err(_) if reply.outcome == Outcome::Ok => {
                tally.answered += 1;
                tally.waits_us.push(u64::try_from(sent.as_micros()).unwrap_or(u64::MAX));
                return;
            }
            // Those who share a budget have its policy only for the first attempts.
            Err(_) if office.is_shared => turn = office.gate.call().idempotent().acquire(),
            Err(_) => {
                tally.given_up += 1;
                return;
            }
        }
    }
    office.tally().given_up += 1;
    sleep(REST).await;
}
