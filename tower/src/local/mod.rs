//! One budget for the processes of one user on one machine, without a server: [`Builder::share`].
//!
//! The processes connect to a socket. Its owner holds the budgets. If the owner ends or freezes, another
//! process takes over within a second and continues from the record beside the socket. The npm
//! package's `tidegate/local` uses the same protocol, so Rust and Node programs share one budget.
//! `core/docs/local.md` in the repository describes the format.
//!
//! # What differs in a shared gate
//!
//! - The policy of the process that joined last applies, so use the same policy in all processes. While another one
//!   applies, [`Gate::trouble`] says so.
//! - Each call counts as one, whatever it costs. One that costs more than one is rejected.
//! - [`try_acquire`](Gate::try_acquire) returns `None` until this process has a lease.
//! - A budget learns from a response when its body has ended. A call that takes longer than
//!   [`expiry`](Share::expiry), with its body, loses its place and teaches nothing.
//! - A retry waits for a lease after its backoff. The retry budget is that of this process.
//! - Of several [keys](crate::Call::keys), all but the last learn only the outcome of a call.
//! - [`snapshot`](Gate::snapshot) is empty, because the records beside the socket continue without it. `restore` and
//!   `reset` do nothing.
//! - It needs tokio's runtime, with `enable_all`: each key has a task that sends its requests. If that
//!   runtime ends, the calls of others start the task again, so a gate may be a static. Its files have
//!   a few hundred bytes, and are written without a separate thread.
//!
//! # If the budget cannot be shared
//!
//! The folder is not writable or belongs to another user, another program or another version of the protocol uses the
//! socket, or the process that holds the budgets does not answer. Calls then continue within the latest share of this
//! process, and before the first answer within the quota of [`alone`](Share::alone), whatever the policy is.
//! [`Gate::check`] fails at the start of the program, [`SharingStats::troubled`] counts the keys,
//! [`Gate::trouble`] has the reason of each, and with the feature `tracing` there is an event at the level
//! `WARN`, once a minute for each reason.
//!
//! A process holds the budgets of 256 keys. It gives a budget up a second after all members have left, or after a
//! minute without a request. The same applies to the calls of any further keys. Use several names for more.
//!
//! On Windows, the processes use a named pipe. That part is compiled in the tests, but not run.

mod budget;
mod frames;
mod line;
mod member;
mod place;
mod post;
mod record;
mod seat;
mod standing;
#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(windows, path = "windows.rs")]
mod system;

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tidegate::Quota;

pub use budget::LocalBudget;

pub(crate) use member::{Courier, Leased, Sharing};

use crate::gate::{Builder, Gate};
use crate::timer::Timer;
use place::Place;
use post::Post;

/// With which processes a gate shares its budgets, and how: see [`Builder::share`].
#[derive(Clone, Debug)]
#[must_use = "it shares nothing until it is passed to `Builder::share`"]
pub struct Share {
    name: String,
    folder: Option<PathBuf>,
    expiry: Duration,
    alone: Option<Quota>,
    heartbeat: Duration,
}

impl Share {
    /// Processes whose gates have the same name and folder share budgets. A name has 1 to 64
    /// letters, digits, dots, dashes and underscores.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            folder: None,
            expiry: Duration::from_secs(30),
            alone: None,
            heartbeat: Duration::from_millis(500),
        }
    }

    /// The folder of the socket and the records. It must belong to this user and be closed to
    /// others. The default is `tidegate-` followed by the user ID, in `$XDG_RUNTIME_DIR` if that is
    /// closed to others too, else in `$TMPDIR`, else in `/tmp`.
    pub fn folder(self, folder: impl Into<PathBuf>) -> Self {
        Self { folder: Some(folder.into()), ..self }
    }

    /// After which time a call that was not settled is lost and frees its place. It must be longer than the longest
    /// call. 30 s by default.
    pub fn expiry(self, expiry: Duration) -> Self {
        Self { expiry: expiry.max(Duration::from_millis(1)), ..self }
    }

    /// The quota of a key in this process while its budget [cannot be shared](self#if-the-budget-cannot-be-shared),
    /// until it knows its share. One call a second by default.
    pub fn alone(self, alone: Quota) -> Self {
        Self { alone: Some(alone), ..self }
    }

    /// The longest time between requests of a process while it has calls. Half a second by default.
    /// A shorter one follows the server more closely and costs more messages.
    pub fn heartbeat(self, heartbeat: Duration) -> Self {
        Self { heartbeat: heartbeat.max(Duration::from_millis(1)), ..self }
    }
}

impl<S: Into<String>> From<S> for Share {
    fn from(name: S) -> Self {
        Self::new(name)
    }
}

impl Builder {
    /// Shares the budget of each key with the other processes of this user whose gates have the same name. See
    /// [`local`](self) for what differs then, and what happens if they cannot share it. A concurrency limit is that of
    /// all processes, at most 2048.
    ///
    /// ```no_run
    /// use tidegate_tower::Gate;
    /// use tidegate_tower::tidegate::{Outcome, Policy, Quota, law::Fixed};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let policy = Policy::new(Fixed::new(Quota::per_second(50)?));
    /// let gate = Gate::builder(policy).share("example")?.build();
    /// gate.check().await?;
    /// // ... make the call ...
    /// gate.key("api.example.com").run(|| async { Outcome::Ok }).await?;
    /// gate.close().await; // gives back what is leased, and the seat
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`LocalError`] if the name is invalid, or the folder's path is too long for a socket.
    pub fn share(mut self, share: impl Into<Share>) -> Result<Self, LocalError> {
        let place = Place::new(share.into(), self.policy)?;
        self.sharing = Some(Sharing {
            post: Arc::new(Post::new(place)),
            start: |runtime, courier| drop(runtime.spawn(Courier::carry(courier))),
        });
        Ok(self)
    }
}

impl<const LIMITS: usize, T: Timer> Gate<LIMITS, T> {
    /// Finds the process that holds the budgets that this gate [shares](Builder::share). If there is none, this process
    /// becomes it. Await it at the start of the program, to fail there instead of at the rate of one process.
    ///
    /// # Errors
    /// Why the budgets [cannot be shared](self#if-the-budget-cannot-be-shared).
    pub async fn check(&self) -> Result<(), LocalError> {
        let Some(post) = self.post() else { return Ok(()) };
        post.find(None).await.map(drop)
    }

    /// Returns the leases, and hands over the budgets that this process holds. Await it at the end
    /// of the program, after its calls. The gate can be used again afterwards. If it shares nothing, it does nothing.
    pub async fn close(&self) {
        let Some(post) = self.post() else { return };
        for lane in self.keys.take() {
            lane.leave(post).await;
        }
        post.close();
    }

    /// Why the latest request for a shared key failed, or that another process's policy applies. Calls
    /// [continue](self#if-the-budget-cannot-be-shared).
    #[must_use]
    pub fn trouble(&self, key: &str) -> Option<LocalError> {
        self.keys.find(key)?.lock().gate.leased.as_ref()?.trouble.clone()
    }

    /// The counters of a shared key's budget, if this process holds it.
    #[must_use]
    pub fn budget(&self, key: &str) -> Option<LocalBudget> {
        self.post()?.seat()?.stats(key.as_bytes())
    }

    fn post(&self) -> Option<&Post> {
        self.keys.settings.sharing.as_ref().map(|sharing| &*sharing.post)
    }
}

/// The leases of a process from the budgets that it [shares](Builder::share), over all keys.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct SharingStats {
    /// The number of processes that share a budget, as last reported; the maximum over all keys.
    pub members: u16,
    /// Available leases.
    pub available_leases: usize,
    /// The number of keys with a [trouble](Gate::trouble).
    pub troubled: usize,
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

impl SharingStats {
    pub(crate) fn add(&mut self, other: &Self) {
        self.members = self.members.max(other.members);
        self.available_leases += other.available_leases;
        self.troubled += other.troubled;
        self.asked = self.asked.saturating_add(other.asked);
        self.missed = self.missed.saturating_add(other.missed);
        self.alone = self.alone.saturating_add(other.alone);
        self.delayed = self.delayed.saturating_add(other.delayed);
        self.without = self.without.saturating_add(other.without);
    }
}

/// Why a request to the process that holds the budget failed. Calls continue within the share of
/// this process. [`Gate::trouble`](crate::Gate::trouble) returns it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LocalError {
    what: Arc<str>,
}

impl LocalError {
    fn new(what: impl Into<Arc<str>>) -> Self {
        Self { what: what.into() }
    }

    /// An error that contains the system's message, and says that calls continue.
    fn unusable(what: fmt::Arguments<'_>, error: &io::Error) -> Self {
        Self::new(format!("{what}: {error}. Calls continue within the share of this process"))
    }
}

impl fmt::Display for LocalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for LocalError {}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
