//! The gate: one for all tasks that call an API.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tidegate::law::AnyLaw;
use tidegate::{Policy, Span};
#[cfg(feature = "tokio")]
use tidegate::{Quota, law::Fixed};

use crate::acquire::Acquire;
use crate::call::Call;
use crate::classify::{Classify, Standard};
use crate::error::{Error, RestoreError};
use crate::keys::Keys;
use crate::permit::Permit;
use crate::stats::Stats;
use crate::timer::{Timer, Tokio, span};

/// Paces the calls of all tasks that share it, retries throttled calls, and learns from the
/// responses.
///
/// A clone is another handle of the same gate. Each [key](Self::key) has its own limit and queue.
///
/// ```
/// use tidegate_tower::Gate;
/// use tidegate_tower::tidegate::Outcome;
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), tidegate_tower::Error> {
/// let gate = Gate::adaptive();
/// let mut rejections = 1;
/// let outcome = gate
///     .run(|| {
///         // ... make the call; here, the server rejects the first attempt ...
///         rejections -= 1;
///         let outcome = if rejections < 0 { Outcome::Ok } else { Outcome::Throttled };
///         async move { outcome }
///     })
///     .await?;
/// assert_eq!(outcome, Outcome::Ok);
/// assert_eq!(gate.stats().counts.throttled, 1);
/// # Ok(()) }
/// ```
///
/// It spawns no task. Each waiting call has its own timer, so a gate can be created anywhere. Only a waiting call needs
/// the runtime.
///
/// # Parameters
///
/// `LIMITS` is how many limits a call counts against: requests and tokens, for example. `T` is the
/// [`Timer`].
pub struct Gate<const LIMITS: usize = 1, T: Timer = Tokio> {
    pub(crate) keys: Arc<Keys<LIMITS, T>>,
}

#[cfg(feature = "tokio")]
impl Gate {
    /// Creates a gate for an unknown limit. The law `adaptive` finds the limit.
    #[must_use]
    pub fn adaptive() -> Self {
        Self::new(Policy::adaptive())
    }

    /// Creates a gate for a known limit.
    #[must_use]
    pub fn fixed(quota: Quota) -> Self {
        Self::new(Policy::new(Fixed::new(quota)))
    }
}

#[cfg(feature = "tokio")]
impl Default for Gate {
    /// Creates the same gate as [`Gate::adaptive`].
    fn default() -> Self {
        Self::adaptive()
    }
}

#[cfg(feature = "tokio")]
impl<const LIMITS: usize> Gate<LIMITS> {
    /// Creates a gate with this policy, on tokio's clock. [`builder`](Self::builder) has more
    /// settings.
    #[must_use]
    pub fn new<L: Copy + Into<AnyLaw>>(policy: Policy<L, LIMITS>) -> Self {
        Self::builder(policy).build()
    }

    /// Creates a builder for a gate on tokio's clock.
    ///
    /// ```
    /// use tidegate_tower::Gate;
    /// use tidegate_tower::tidegate::{Policy, Quota, law::Fixed};
    ///
    /// let requests = Quota::per_second(3).unwrap().with_burst(3).unwrap();
    /// let tokens = Quota::per_minute(90_000).unwrap().with_burst(90_000).unwrap();
    /// let policy = Policy::of([requests, tokens].map(Fixed::new));
    /// let gate = Gate::builder(policy).queue(500).keys(100).build();
    /// let _ = gate.call().costing([1, 1_200]);
    /// ```
    pub fn builder<L: Copy + Into<AnyLaw>>(policy: Policy<L, LIMITS>) -> Builder<LIMITS> {
        Builder::new(policy, Tokio::default())
    }
}

impl<const LIMITS: usize, T: Timer> Gate<LIMITS, T> {
    /// Prepares a call with options: cost, deadline, priority.
    pub fn call(&self) -> Call<LIMITS, T> {
        Call::new(self.clone())
    }

    /// See [`Call::key`].
    pub fn key(&self, key: impl Into<String>) -> Call<LIMITS, T> {
        self.call().key(key)
    }

    /// See [`Call::keys`].
    pub fn keys<K: Into<String>>(&self, keys: impl IntoIterator<Item = K>) -> Call<LIMITS, T> {
        self.call().keys(keys)
    }

    /// See [`Call::with_timeout`].
    pub fn with_timeout(&self, timeout: Duration) -> Call<LIMITS, T> {
        self.call().with_timeout(timeout)
    }

    /// See [`Call::acquire`].
    pub fn acquire(&self) -> Acquire<LIMITS, T> {
        self.call().acquire()
    }

    /// See [`Call::try_acquire`].
    pub fn try_acquire(&self) -> Option<Permit<LIMITS, T>> {
        self.call().try_acquire()
    }

    /// See [`Call::peek`].
    ///
    /// # Errors
    /// [`Error::Rejected`] if the call would be rejected.
    pub fn peek(&self) -> Result<Duration, Error> {
        self.call().peek()
    }

    /// See [`Call::run`].
    ///
    /// # Errors
    /// [`Error`] if no attempt was sent, or one was in flight at the deadline.
    pub async fn run<F, Fut>(&self, send: F) -> Result<Fut::Output, Error>
    where
        F: FnMut() -> Fut,
        Fut: Future,
        Standard: Classify<Fut::Output, LIMITS>,
    {
        self.call().run(send).await
    }

    /// The counters and the current state of all keys.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.keys.stats()
    }

    /// Sets another policy for all keys. A law that stays the same keeps what it has learned. A lower ceiling also
    /// applies to cooldowns that have already begun.
    pub fn set_policy<L: Copy + Into<AnyLaw>>(&self, policy: Policy<L, LIMITS>) {
        self.keys.set_policy(any(policy));
    }

    /// Ends the cooldowns of a key, and forgets what its laws have learned. Use it when the cause of a cooldown is
    /// gone, for example after you buy more quota or a server is repaired. The policy's quotas still apply. Calls
    /// without a key have an empty one.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tidegate_tower::Gate;
    /// use tidegate_tower::tidegate::{Hint, Outcome, Span};
    ///
    /// let gate = Gate::adaptive();
    /// let throttled = Outcome::Throttled.with(Hint::retry_after(Span::from_secs(1_800)));
    /// gate.key("api").try_acquire().unwrap().settle(throttled);
    /// assert!(gate.key("api").try_acquire().is_none());
    /// gate.reset("api");
    /// assert_eq!(gate.key("api").peek(), Ok(Duration::ZERO));
    /// ```
    pub fn reset(&self, key: &str) {
        if let Some(lane) = self.keys.find(key) {
            lane.change(|gate, now| gate.own.reset(now));
        }
    }

    /// Returns what the gate has learned for each key, to restore after a restart.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tidegate_tower::Gate;
    /// use tidegate_tower::tidegate::{Hint, Outcome, Span};
    ///
    /// let (gate, wait) = (Gate::adaptive(), Hint::retry_after(Span::from_secs(1)));
    /// gate.try_acquire().unwrap().settle(Outcome::Throttled.with(wait));
    /// let learned = gate.snapshot();
    /// // ... an hour later, in another process ...
    /// let gate = Gate::adaptive();
    /// assert_eq!(gate.restore(&learned, Duration::from_secs(3_600)), Ok(1));
    /// assert!(gate.stats().interval.is_some());
    /// ```
    #[must_use]
    pub fn snapshot(&self) -> BTreeMap<String, Vec<u8>> {
        self.keys.snapshot()
    }

    /// Continues from a snapshot that was taken `away` ago under a policy with the same laws. Returns the number of
    /// restored keys. Keys with calls, and keys that do not fit into the table, are skipped. If the time is unknown,
    /// use zero, which costs only waits.
    ///
    /// # Errors
    /// [`RestoreError`] if a record is damaged or belongs to another policy. Nothing is restored then.
    pub fn restore(
        &self,
        snapshot: &BTreeMap<String, Vec<u8>>,
        away: Duration,
    ) -> Result<usize, RestoreError> {
        self.keys.restore(snapshot, span(away))
    }
}

impl<const LIMITS: usize, T: Timer> Clone for Gate<LIMITS, T> {
    fn clone(&self) -> Self {
        Self { keys: self.keys.clone() }
    }
}

impl<const LIMITS: usize, T: Timer> fmt::Debug for Gate<LIMITS, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Gate").field(&self.stats()).finish()
    }
}

/// The settings of a gate.
#[derive(Clone, Debug)]
#[must_use = "a builder makes no gate until `build`"]
pub struct Builder<const LIMITS: usize = 1, T: Timer = Tokio> {
    pub(crate) policy: Policy<AnyLaw, LIMITS>,
    pub(crate) timer: T,
    seed: Option<u64>,
    pub(crate) keys: usize,
    pub(crate) queue: u32,
    pub(crate) take_within: Span,
    #[cfg(feature = "local")]
    pub(crate) sharing: Option<crate::local::Sharing<LIMITS, T>>,
}

impl<const LIMITS: usize, T: Timer> Builder<LIMITS, T> {
    /// Creates a builder for a gate with this policy, on any clock.
    pub fn new<L: Copy + Into<AnyLaw>>(policy: Policy<L, LIMITS>, timer: T) -> Self {
        let policy = any(policy);
        Self {
            policy,
            timer,
            seed: None,
            keys: 1_000,
            queue: 10_000,
            take_within: Span::from_secs(1),
            #[cfg(feature = "local")]
            sharing: None,
        }
    }

    /// How many keys the gate remembers: 1000 by default. A new key evicts the least recently used one. Keys with calls
    /// are not evicted, and may exceed this number. Keys that have to wait, as in a cooldown, are evicted only if there
    /// are eight times as many keys.
    pub const fn keys(mut self, most: usize) -> Self {
        self.keys = most;
        self
    }

    /// How many calls of a key may wait. 10,000 by default; further calls are rejected.
    pub const fn queue(mut self, most: u32) -> Self {
        self.queue = most;
        self
    }

    /// Sets the seed of the jitter, for repeatable tests; random by default. On wasm32, pass a random number: there is
    /// no source of randomness.
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// How long an admitted call keeps a permit that its task does not take because its future is not polled. One
    /// second by default, and at least a millisecond. Then the next call gets the permit. When the future is polled
    /// again, its call waits at its old place in the queue, with twice as much time. So a call whose task always runs
    /// late is sent too.
    pub fn take_within(mut self, patience: Duration) -> Self {
        self.take_within = span(patience).max(Span::from_millis(1));
        self
    }

    /// Creates the gate.
    #[must_use]
    pub fn build(self) -> Gate<LIMITS, T> {
        let seed = self.seed.unwrap_or_else(random);
        Gate { keys: Arc::new(Keys::new(self, seed)) }
    }
}

/// The seed of a gate. On wasm32, std has none.
pub(crate) fn random() -> u64 {
    #[cfg(all(feature = "js", target_family = "wasm"))]
    return crate::js::random();
    #[cfg(not(all(feature = "js", target_family = "wasm")))]
    std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), ())
}

fn any<L: Copy + Into<AnyLaw>, const LIMITS: usize>(
    policy: Policy<L, LIMITS>,
) -> Policy<AnyLaw, LIMITS> {
    policy.limits(policy.laws().map(Into::into))
}
