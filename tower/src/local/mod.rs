//! One budget for the processes of one user on one machine, without a server.
//!
//! They connect to a socket. Its owner holds the budgets. If the owner ends or freezes, another
//! process takes over within a second and continues from the record beside the socket. The npm
//! package's `tidegate/local` uses the same protocol, so Rust and Node programs share one budget.
//! `core/docs/local.md` in the repository describes the format.

mod budgets;
mod call;
mod error;
mod frames;
mod lane;
mod line;
mod place;
mod post;
mod record;
mod seat;
#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(windows, path = "windows.rs")]
mod system;

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::num::NonZeroU16;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tidegate::law::AnyLaw;
use tidegate::queue::Place;
use tidegate::{Call, Outcome, Policy, Quota, Reply};

pub use budgets::LocalBudget;
pub use call::LocalCall;
pub use error::LocalError;

use crate::alarm::{self, Alarm};
use crate::classify::{Classify, Standard};
use crate::desk::{Decided, Queued};
use crate::error::Error;
use crate::stats;
use crate::timer::Tokio;
use budgets::Terms;
use lane::Lane;
use post::Post;

/// Shares the budget of each key with the other processes of its user. A clone is another handle of the same gate.
///
/// ```no_run
/// use tidegate_tower::local::LocalGate;
/// use tidegate_tower::tidegate::{Outcome, Policy, Quota, law::Fixed};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let policy = Policy::new(Fixed::new(Quota::per_second(50)?));
/// let gate = LocalGate::builder(policy).name("example").build()?;
/// // ... make the call ...
/// gate.run("api.example.com", || async { Outcome::Ok }).await?;
/// gate.close().await; // gives back what is leased, and the seat
/// # Ok(()) }
/// ```
///
/// # If the budget cannot be shared
///
/// The folder is not writable or belongs to another user, another program or another version of the protocol uses the
/// socket, or the process that holds the budgets does not answer. Calls then continue within the latest share of this
/// process, and before the first answer within the quota of [`alone`](LocalBuilder::alone), whatever the policy is.
/// [`check`](Self::check) fails at the start of the program, [`LocalStats::troubled`] counts the keys,
/// [`trouble`](Self::trouble) has the reason of each, and with the feature `tracing` there is an event at the level
/// `WARN`, once a minute for each reason.
///
/// A process holds the budgets of 256 keys, each with a tenth of a megabyte, until they were unused for a minute. The
/// same applies to the calls of any further keys. Use several names for more.
///
/// # Order, costs and tasks
///
/// Calls of one key are admitted first come, first served; a retry goes before newer calls. A call
/// costs one call of the budget. The policy of the process that holds the budget applies, so use
/// the same policy in all processes.
///
/// It needs tokio's runtime, with `enable_all`: each key has a task that sends its requests. If that
/// runtime ends, the calls of others start the task again, so a gate may be a static. Its files have
/// a few hundred bytes, and are written without a separate thread.
#[derive(Clone)]
pub struct LocalGate {
    inner: Arc<Inner>,
}

struct Inner {
    post: Arc<Post>,
    alone: Quota,
    expiry: Duration,
    queue: u32,
    lanes: Mutex<HashMap<Arc<str>, Arc<Lane>>>,
    past: Mutex<tidegate::Stats>,
}

/// The number of remembered keys. Beyond it, keys without calls and leases are forgotten.
const KEYS: usize = 1_000;

impl LocalGate {
    /// Creates a gate for an unknown limit, with the name `default`. The law `adaptive` finds the
    /// limit.
    ///
    /// # Errors
    /// [`LocalError`] if the path of the folder for temporary files is too long for a socket.
    pub fn adaptive() -> Result<Self, LocalError> {
        Self::builder(Policy::adaptive()).build()
    }

    /// A builder for a gate whose budgets follow `policy`.
    pub fn builder<L: Copy + Into<AnyLaw>>(policy: Policy<L>) -> LocalBuilder {
        LocalBuilder {
            policy: policy.limits(policy.laws().map(Into::into)),
            name: "default".to_owned(),
            folder: None,
            expiry: Duration::from_secs(30),
            alone: None,
            heartbeat: Duration::from_millis(500),
            queue: 10_000,
        }
    }

    /// A call of a key, with a priority, a deadline, or both.
    pub fn key(&self, key: &str) -> LocalCall {
        LocalCall::new(self.clone(), key)
    }

    /// A permit when it is the call's turn. See [`LocalCall::acquire`].
    pub fn acquire(&self, key: &str) -> LocalAcquire {
        self.key(key).acquire()
    }

    /// Makes a call when it may be sent, and retries it while the server throttles it. Returns the
    /// last result, which [`Standard`] reads.
    ///
    /// # Errors
    /// As [`LocalCall::run`].
    pub async fn run<F, Fut>(&self, key: &str, send: F) -> Result<Fut::Output, Error>
    where
        F: FnMut() -> Fut,
        Fut: Future,
        Standard: Classify<Fut::Output>,
    {
        self.key(key).run(send).await
    }

    /// The counters of all keys, and the current state of the gate.
    #[must_use]
    pub fn stats(&self) -> LocalStats {
        let lanes: Vec<_> = self.inner.lanes().values().cloned().collect();
        let mut all = LocalStats { counts: *lock(&self.inner.past), ..LocalStats::default() };
        for lane in lanes {
            let one = lane.glance();
            stats::add(&mut all.counts, &one.tally.calls);
            all.waiting += one.waiting;
            all.in_flight += one.in_flight;
            all.available_leases += one.available_leases;
            all.members = all.members.max(one.members);
            all.troubled += usize::from(one.trouble.is_some());
            for (sum, count) in [
                (&mut all.alone, one.tally.alone),
                (&mut all.delayed, one.tally.delayed),
                (&mut all.without, one.tally.without),
                (&mut all.asked, one.tally.asked),
                (&mut all.missed, one.tally.missed),
            ] {
                *sum = sum.saturating_add(count);
            }
        }
        all
    }

    /// The counters of a key's budget, if this process holds it.
    #[must_use]
    pub fn budget(&self, key: &str) -> Option<LocalBudget> {
        self.inner.post.budget(key)
    }

    /// Finds the process that holds the budgets. If there is none, this process becomes it. Await it at the start of
    /// the program, to fail there instead of at the rate of one process.
    ///
    /// # Errors
    /// Why the budgets [cannot be shared](Self#if-the-budget-cannot-be-shared).
    pub async fn check(&self) -> Result<(), LocalError> {
        self.inner.post.carry(None).await.map(drop)
    }

    /// Why the latest request for a key failed; `None` if it was answered. Calls
    /// [continue](Self#if-the-budget-cannot-be-shared).
    #[must_use]
    pub fn trouble(&self, key: &str) -> Option<LocalError> {
        self.inner.lanes().get(key).cloned()?.glance().trouble
    }

    /// Returns the leases, and hands over the budgets that this process holds. Await it at the end
    /// of the program, after its calls. The gate can be used again afterwards.
    pub async fn close(&self) {
        let lanes = std::mem::take(&mut *self.inner.lanes());
        for lane in lanes.into_values() {
            stats::add(&mut lock(&self.inner.past), &lane.glance().tally.calls);
            lane.leave().await;
        }
        self.inner.post.close();
    }
}

impl fmt::Debug for LocalGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LocalGate").field(&self.stats()).finish()
    }
}

impl Inner {
    fn lanes(&self) -> MutexGuard<'_, HashMap<Arc<str>, Arc<Lane>>> {
        lock(&self.lanes)
    }

    fn lane(&self, key: &Arc<str>) -> Arc<Lane> {
        let mut lanes = self.lanes();
        if let Some(lane) = lanes.get(key) {
            return lane.clone();
        }
        if lanes.len() >= KEYS {
            let mut past = lock(&self.past);
            lanes.retain(|_, lane| {
                let one = lane.glance();
                // Another handle belongs to a call that may be about to join.
                let used = Arc::strong_count(lane) > 1 || !one.spare;
                if !used {
                    stats::add(&mut past, &one.tally.calls);
                }
                used
            });
        }
        let lane = Lane::new(key.clone(), self.post.clone(), self.alone, self.expiry, self.queue);
        lanes.insert(key.clone(), lane.clone());
        lane
    }
}

/// The settings of a gate.
#[derive(Clone, Debug)]
#[must_use = "a builder makes no gate until `build`"]
pub struct LocalBuilder {
    policy: Policy<AnyLaw>,
    name: String,
    folder: Option<PathBuf>,
    expiry: Duration,
    alone: Option<Quota>,
    heartbeat: Duration,
    queue: u32,
}

impl LocalBuilder {
    /// Processes whose gates have the same name and folder share budgets. A name has 1 to 64
    /// letters, digits, dots, dashes and underscores. The default is `default`.
    pub fn name(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// The folder of the socket and the records. It must belong to this user and be closed to
    /// others. The default is `tidegate-` followed by the user ID, in `$XDG_RUNTIME_DIR` if that is
    /// closed to others too, else in `$TMPDIR`, else in `/tmp`.
    pub fn folder(self, folder: impl Into<PathBuf>) -> Self {
        Self { folder: Some(folder.into()), ..self }
    }

    /// How many calls of all members may be leased and in flight: at most 2048.
    pub fn concurrency(self, limit: NonZeroU16) -> Self {
        Self { policy: self.policy.concurrency(limit), ..self }
    }

    /// After which time a call that was not settled is lost and frees its place. It must be longer than the longest
    /// call. 30 s by default.
    pub fn expiry(self, expiry: Duration) -> Self {
        Self { expiry: expiry.max(Duration::from_millis(1)), ..self }
    }

    /// The quota of a key in this process while its budget [cannot be
    /// shared](LocalGate#if-the-budget-cannot-be-shared), until it knows its share. One call a second by default.
    pub fn alone(self, alone: Quota) -> Self {
        Self { alone: Some(alone), ..self }
    }

    /// The longest time between requests of a member while it has calls. Half a second by default.
    /// A shorter one follows the server more closely and costs more messages.
    pub fn heartbeat(self, heartbeat: Duration) -> Self {
        Self { heartbeat: heartbeat.max(Duration::from_millis(1)), ..self }
    }

    /// How many calls of a key may wait. 10,000 by default; further calls are rejected.
    pub fn queue(self, most: u32) -> Self {
        Self { queue: most, ..self }
    }

    /// Creates the gate. It opens nothing before the first call.
    ///
    /// # Errors
    /// [`LocalError`] if the name is invalid, or the folder's path is too long for a socket.
    pub fn build(self) -> Result<LocalGate, LocalError> {
        let place = Arc::new(place::Place::new(self.name, self.folder)?);
        let second = || Quota::per_second(1).map_err(|error| LocalError::new(error.to_string()));
        let alone = self.alone.map_or_else(second, Ok)?;
        let post = Arc::new(Post::new(Terms {
            place,
            policy: self.policy,
            expiry: self.expiry,
            heartbeat: self.heartbeat,
        }));
        let inner = Inner {
            post,
            alone,
            expiry: self.expiry,
            queue: self.queue,
            lanes: Mutex::default(),
            past: Mutex::default(),
        };
        Ok(LocalGate { inner: Arc::new(inner) })
    }
}

/// The counters of a gate in this process, over all keys.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct LocalStats {
    /// Decisions and outcomes.
    pub counts: tidegate::Stats,
    /// Calls that wait.
    pub waiting: usize,
    /// Calls in flight.
    pub in_flight: usize,
    /// Available leases.
    pub available_leases: usize,
    /// The number of keys with a [trouble](LocalGate::trouble).
    pub troubled: usize,
    /// The number of processes that share the budget, as last reported; the maximum over all keys.
    pub members: u16,
    /// Requests to the process that holds the budget.
    pub asked: u32,
    /// Requests without an answer.
    pub missed: u32,
    /// Calls that were sent without a lease.
    pub alone: u32,
    /// Calls that waited for an answer although their lease was already due.
    pub delayed: u32,
    /// Calls that found no lease when they were first in the queue.
    pub without: u32,
}

/// Waits for a permit. Returned by [`LocalGate::acquire`].
#[must_use = "futures do nothing unless polled"]
pub struct LocalAcquire {
    gate: LocalGate,
    stage: Stage,
    alarm: Alarm<Tokio>,
}

enum Stage {
    New { key: Arc<str>, priority: u8, deadline: Option<tokio::time::Instant> },
    Queue(Queued<Arc<Lane>>),
}

impl Future for LocalAcquire {
    type Output = Result<LocalPermit, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        alarm::cooperate(cx, |cx| self.poll_permit(cx))
    }
}

impl LocalAcquire {
    fn poll_permit(&mut self, cx: &mut Context<'_>) -> Poll<Result<LocalPermit, Error>> {
        let Self { gate, stage, alarm } = self;
        loop {
            let queued = match stage {
                Stage::New { key, priority, deadline } => {
                    let lane = gate.inner.lane(key);
                    let call = lane.until(*deadline);
                    *stage = Stage::Queue(Queued::new(lane, call, Place::new(*priority, 0)));
                    continue;
                }
                Stage::Queue(queued) => queued,
            };
            let Decided { lane, call, place, now, decision } = ready!(queued.poll(alarm, cx));
            return Poll::Ready(match decision {
                Ok(permit) => {
                    let (gate, is_settled) = (gate.clone(), false);
                    Ok(LocalPermit { gate, lane, permit, is_settled, call, place })
                }
                Err(reason) => Err(Error::rejected(lane.key.clone(), reason, now)),
            });
        }
    }
}

impl fmt::Debug for LocalAcquire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = match &self.stage {
            Stage::New { key, .. } => Some(key),
            Stage::Queue(queued) => queued.lane.as_ref().map(|lane| &lane.key),
        };
        f.debug_struct("LocalAcquire").field("key", &key).finish_non_exhaustive()
    }
}

/// The right to make one attempt of a call. If it is dropped, the call is abandoned: its place is
/// free, and the gate learns nothing.
#[must_use = "a permit that is dropped is an abandoned call: settle it"]
pub struct LocalPermit {
    gate: LocalGate,
    lane: Arc<Lane>,
    permit: u64,
    is_settled: bool,
    call: Call,
    place: Place,
}

impl LocalPermit {
    /// Reports the outcome of the call to all members.
    pub fn settle(mut self, reply: impl Into<Reply>) {
        self.is_settled = true;
        self.lane.settle(self.permit, &reply.into());
    }

    /// Reports the same. If another attempt is due, awaiting the result waits for its turn.
    ///
    /// # Errors
    /// [`Error::Rejected`] with the reason why there is no other attempt.
    pub fn retry(mut self, reply: impl Into<Reply>) -> Result<LocalAcquire, Error> {
        self.is_settled = true;
        match self.lane.retry(self.permit, &reply.into(), &self.call) {
            Ok(call) => {
                let queued = Queued::new(self.lane.clone(), call, self.place);
                let (gate, stage) = (self.gate.clone(), Stage::Queue(queued));
                Ok(LocalAcquire { gate, stage, alarm: Alarm::default() })
            }
            Err((reason, now)) => Err(Error::rejected(self.lane.key.clone(), reason, now)),
        }
    }
}

impl Drop for LocalPermit {
    fn drop(&mut self) {
        if !self.is_settled {
            self.lane.settle(self.permit, &Outcome::Abandoned.into());
        }
    }
}

impl fmt::Debug for LocalPermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalPermit").field("key", &self.lane.key).finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
