//! One process of the fleet: several workers that share one controller and know nothing else.
//!
//! It begins when its standard input says so and ends when that closes, so that it cannot outlive
//! whoever started it.

use crate::laws::of_calls_and_tokens;
use crate::memory;
use crate::options::{Client, Tokens};
use crate::server::{CALLER, TOKENS};
use crate::tally::{Tally, Tier};
use crate::waiting::Waiting;
use anyhow::{Context, Result};
use axum::body::Bytes;
use axum::http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt, Empty, Limited};
use hyper_util::client::legacy::Client as Http;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use std::io::{BufRead, Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant as Clock, SystemTime, UNIX_EPOCH};
use tidegate::law::{AnyLaw, AnyState};
use tidegate::queue::{Ticket, Turn};
use tidegate::signal::http::{Answer, Reading, Unit};
use tidegate::{Call, Hint, Instant, Outcome, Policy, Reply, Span};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::{interval, sleep, timeout};

/// Where the run stands, as the process that started this one tells it.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
enum Phase {
    Ready,
    Running,
    Over,
}

/// Runs one process of the fleet until its standard input closes.
#[tokio::main(flavor = "current_thread")]
pub async fn run(options: &Client) -> Result<()> {
    let phase = listen();
    if options.tokens {
        let policy = of_calls_and_tokens(&options.law)?;
        serve(options, Office::open(options, policy, [Unit::Requests, Unit::Tokens]), phase).await
    } else {
        let policy = Policy::named(&options.law).context("there is no such law")?;
        serve(options, Office::open(options, policy, [Unit::Requests]), phase).await
    }
}

async fn serve<const LIMITS: usize>(
    options: &Client,
    office: Office<LIMITS>,
    phase: watch::Receiver<Phase>,
) -> Result<()> {
    let office = Arc::new(office);
    office.report()?;

    let mut workers = JoinSet::new();
    for _ in 0..options.workers {
        workers.spawn(work(office.clone(), phase.clone()));
    }
    let grace = options.grace;
    let done = async {
        reached(&phase, Phase::Over).await;
        // Who is in flight may land; who is not has stopped by itself.
        let _ = timeout(grace, async { while workers.join_next().await.is_some() {} }).await;
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
        () = office.keep_time() => Ok(()), // not reached: it goes on for good
        failed = reports => failed,
    }
}

/// Follows standard input on a thread of its own, because a read of it cannot be called off.
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
    // The sender says `Over` before it goes.
    let _ = phase.clone().wait_for(|now| *now >= wanted).await;
}

/// What the workers of a process share.
struct Office<const LIMITS: usize> {
    waiting: Mutex<Waiting<LIMITS>>,
    /// What each limit counts: calls first, then tokens.
    units: [Unit; LIMITS],
    /// How many calls were asked for, which spreads what they cost.
    turn: AtomicU64,
    /// Told of every event, after which the time to look again may be another.
    changed: Notify,
    opened: Clock,
    http: Http<HttpConnector, Empty<Bytes>>,
    address: String,
    number: usize,
    patience: Duration,
    deadline: Option<Span>,
    tally: Mutex<Tally>,
}

/// More than any honest answer of this API is long. Nobody reads it, so what is longer is not taken.
const LONGEST_ANSWER: usize = 1 << 20;

/// How long a worker does something else when a call of its was throttled at once.
const REST: Duration = Duration::from_millis(50);

impl<const LIMITS: usize> Office<LIMITS> {
    fn open(options: &Client, policy: Policy<AnyLaw, LIMITS>, units: [Unit; LIMITS]) -> Self {
        let workers = u32::try_from(options.workers).unwrap_or(u32::MAX);
        Office {
            units,
            turn: AtomicU64::new(options.number as u64),
            // A call is tried until it is served or the run is over.
            waiting: Mutex::new(Waiting::new(policy.attempts(None), options.seed, workers)),
            changed: Notify::new(),
            opened: Clock::now(),
            http: Http::builder(TokioExecutor::new()).build_http(),
            address: format!("http://{}/", options.address),
            number: options.number,
            patience: options.patience,
            deadline: options.deadline.map(|most| Span::from_nanos(nanos(most))),
            tally: Mutex::default(),
        }
    }

    /// What the next call costs of each limit: itself, and tokens spread evenly over their range.
    fn costs(&self) -> [u32; LIMITS] {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let step = (turn.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54) as u32;
        self.units.map(|unit| match unit {
            Unit::Tokens => Tokens::LEAST + step * (Tokens::MOST - Tokens::LEAST) / 1023,
            _ => 1,
        })
    }

    fn now(&self) -> Instant {
        Instant::from_nanos(nanos(self.opened.elapsed()))
    }

    /// Does something with those that wait, at a time that is read once they are ours, so that it never
    /// runs backwards.
    fn with<R>(&self, act: impl FnOnce(&mut Waiting<LIMITS>, Instant) -> R) -> R {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.now();
        let done = act(&mut waiting, now);
        let wait = waiting.until().map_or(0, |until| until.saturating_since(now).as_nanos());
        self.tally().wait_us = wait / 1000;
        self.changed.notify_one();
        done
    }

    fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn report(&self) -> Result<()> {
        let line = Tally { memory_kib: memory::resident(), ..self.tally().line() };
        let mut line = serde_json::to_vec(&line)?;
        line.push(b'\n');
        let mut out = std::io::stdout().lock();
        out.write_all(&line).and_then(|()| out.flush()).context("nobody listens any more")
    }

    async fn sleep_until(&self, at: Instant) {
        sleep(Duration::from_nanos(at.saturating_since(self.now()).as_nanos())).await;
    }

    /// Lets the calls go whose time comes while nothing else happens.
    async fn keep_time(&self) {
        loop {
            let until = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).until();
            let lapse = async {
                match until {
                    Some(at) => self.sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = self.changed.notified() => {}
                () = lapse => self.with(Waiting::look),
            }
        }
    }

    /// When a call that waits is admitted or rejected.
    async fn turn(&self, ticket: Ticket, waker: &Notify) -> Turn<LIMITS> {
        loop {
            match self.with(|waiting, _| waiting.turn(ticket)) {
                Turn::Waiting => waker.notified().await,
                turn => return turn,
            }
        }
    }

    /// When a call that is asked for now must be over.
    fn deadline(&self) -> Instant {
        self.deadline.map_or(Instant::MAX, |most| self.now().saturating_add(most))
    }

    /// One attempt over the wire, given up when it takes too long.
    async fn attempt(&self, costs: [u32; LIMITS], deadline: Instant) -> Reply<LIMITS> {
        let left = Duration::from_nanos(deadline.saturating_since(self.now()).as_nanos());
        match timeout(left.min(self.patience), self.send(costs)).await {
            Ok(reply) => reply,
            Err(_) => Outcome::Abandoned.into(),
        }
    }

    async fn send(&self, costs: [u32; LIMITS]) -> Reply<LIMITS> {
        let mut request = Request::get(&self.address).header(CALLER, self.number);
        if let Some((_, tokens)) =
            self.units.into_iter().zip(costs).find(|(unit, _)| *unit == Unit::Tokens)
        {
            request = request.header(TOKENS, tokens);
        }
        let Ok(request) = request.body(Empty::new()) else { return Outcome::Failed.into() };
        let Ok(response) = self.http.request(request).await else { return Outcome::Failed.into() };
        let (head, body) = response.into_parts();
        // The body is read to its end so that the connection can carry the next call.
        if Limited::new(body, LONGEST_ANSWER).collect().await.is_err() {
            return Outcome::Failed.into();
        }
        let answer = read(head.status, &head.headers);
        let mut tally = self.tally();
        tally.responses += 1;
        tally.ignored += u64::from(answer.ignored);
        tally.told += u64::from(answer.hint != Hint::NONE || answer.limits().next().is_some());
        answer.about(self.units)
    }
}

/// What the server said, of the call and of its limit.
pub fn read(status: StatusCode, headers: &HeaderMap) -> Answer {
    let mut reading = Reading::new(status.as_u16());
    for (name, value) in headers {
        reading.header(name.as_str(), value.as_bytes());
    }
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    reading.finish(Some(Span::from_nanos(nanos(since_1970))))
}

/// What `adaptive` steers a limit by. Its state shows that in its `Debug` form and nowhere else.
fn tier(state: &AnyState) -> Option<Tier> {
    let AnyState::Adaptive(state) = state else { return None };
    let state = format!("{state:?}");
    let hinted = state.split_once("hinted: ").map_or("", |(_, hinted)| hinted);
    Some(if state.contains("phase: Open(") {
        Tier::Open
    } else if !hinted.contains("left: 4294967295") {
        Tier::Remaining
    } else if !hinted.contains("unit: Log(0)") {
        Tier::Quota
    } else {
        Tier::Blind
    })
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// A worker always has another call to make.
async fn work<const LIMITS: usize>(office: Arc<Office<LIMITS>>, phase: watch::Receiver<Phase>) {
    reached(&phase, Phase::Running).await;
    while *phase.borrow() < Phase::Over {
        office.tally().calls += 1;
        call(&office, &phase).await;
    }
}

/// One logical call: attempts until one succeeds, or until the run is over.
async fn call<const LIMITS: usize>(office: &Office<LIMITS>, phase: &watch::Receiver<Phase>) {
    let asked = Clock::now();
    let costs = office.costs();
    let deadline = office.deadline();
    let mut call = Call::of(costs).deadline(deadline);
    let place = office.with(|waiting, _| waiting.place());
    while let Ok((ticket, waker)) = office.with(|waiting, now| waiting.join(now, &call, place)) {
        let turn = tokio::select! {
            biased;
            () = reached(phase, Phase::Over) => {
                return office.with(|waiting, now| waiting.cancel(now, ticket));
            }
            turn = office.turn(ticket, &waker) => turn,
        };
        let Turn::Admitted(permit) = turn else { break };
        let sent = asked.elapsed();
        let reply = office.attempt(costs, deadline).await;
        let next = office.with(|waiting, now| {
            let next = waiting.settle(now, permit, &call, reply);
            office.tally().steered_by(waiting.gate().states().filter_map(tier));
            next
        });
        if let Some(next) = next {
            call = next;
            continue;
        }
        let mut tally = office.tally();
        if reply.outcome == Outcome::Ok {
            tally.answered += 1;
            tally.waits_us.push(u64::try_from(sent.as_micros()).unwrap_or(u64::MAX));
        } else {
            tally.given_up += 1;
        }
        return;
    }
    office.tally().given_up += 1;
    sleep(REST).await;
}
