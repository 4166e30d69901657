//! A call before it is made.

use std::fmt;
use std::future::Future;
use std::time::Duration;

use smallvec::smallvec;
use tidegate::Retry;

use crate::acquire::Acquire;
use crate::classify::{Classify, Standard};
use crate::drive::drive;
use crate::error::Error;
use crate::gate::Gate;
use crate::keys::{Name, Names};
use crate::observe;
use crate::permit::Permit;
use crate::timer::{Timer, Tokio, duration, span};

/// A call to be made: its cost, deadline, priority, and key or keys.
///
/// ```
/// use std::time::Duration;
/// use tidegate_tower::Gate;
/// use tidegate_tower::tidegate::Outcome;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tidegate_tower::Error> {
/// let gate = Gate::adaptive();
/// let urgent = gate.key("api.example.com").with_priority(7).with_timeout(Duration::from_secs(30));
/// let outcome = urgent.run(|| async { Outcome::Ok }).await?;
/// # assert_eq!(outcome, Outcome::Ok);
/// # Ok(()) }
/// ```
#[must_use = "a call that is not acquired or run is not made"]
pub struct Call<const LIMITS: usize = 1, T: Timer = Tokio> {
    pub(crate) gate: Gate<LIMITS, T>,
    names: Names<LIMITS, T>,
    pub(crate) call: tidegate::Call<LIMITS>,
    priority: u8,
}

impl<const LIMITS: usize, T: Timer> Call<LIMITS, T> {
    pub(crate) fn new(gate: Gate<LIMITS, T>) -> Self {
        let call = tidegate::Call::new().retry(Retry::Rejected);
        Self { gate, names: smallvec![Name::New(String::new())], call, priority: 0 }
    }

    /// The limit that the call counts against: a host, a token, a tenant. Calls without a key share one.
    pub fn key(self, key: impl Into<String>) -> Self {
        Self { names: smallvec![Name::New(key.into())], ..self }
    }

    /// Several limits that the call counts against, from the most general to the most specific, for example those of an
    /// account, a model and a route. Equal keys count once. An empty list is a call without a key.
    ///
    /// The call is sent when all keys admit it, and charges none of them before that. It waits in the queue of one key
    /// at a time, in the order of its arrival. Calls of the other keys do not wait for it, except briefly if all keys
    /// are in constant demand.
    ///
    /// A [`Reply`](tidegate::Reply) describes the limit of the last key. The other keys learn the outcome, but not its
    /// hints and costs. If the hints say that a throttled call exhausted the last limit, the other keys learn nothing.
    /// An attempt counts for each key, and a retry needs the retry budgets of all. [`Gate::stats`] counts a call once
    /// per key. Permits that the call gives up because another key delays it count as abandoned.
    ///
    /// ```
    /// use tidegate_tower::Gate;
    /// use tidegate_tower::tidegate::{Policy, Quota, law::Fixed};
    ///
    /// let gate = Gate::new(Policy::new(Fixed::new(Quota::per_second(2).unwrap().with_burst(2).unwrap())));
    /// let [small, large] = [["account", "small"], ["account", "large"]];
    /// assert!([small, large].iter().all(|keys| gate.keys(*keys).try_acquire().is_some()));
    /// // The account has no room, and the model is not charged for that.
    /// assert!(gate.keys(large).try_acquire().is_none());
    /// assert!(gate.key("large").try_acquire().is_some());
    /// ```
    pub fn keys<K: Into<String>>(self, keys: impl IntoIterator<Item = K>) -> Self {
        let mut names = Names::<LIMITS, T>::new();
        for key in keys.into_iter().map(Into::into) {
            if names.iter().all(|name| **name != *key) {
                names.push(Name::New(key));
            }
        }
        if names.is_empty() {
            names.push(Name::New(String::new()));
        }
        Self { names, ..self }
    }

    /// The [key](Self::key) under which the call can be sent first, for example one of several credentials. If two keys
    /// are equal, it is the one with fewer calls, then the earlier one.
    ///
    /// ```
    /// use tidegate_tower::Gate;
    /// use tidegate_tower::tidegate::{Hint, Outcome, Span};
    ///
    /// let gate = Gate::adaptive();
    /// let throttled = Outcome::Throttled.with(Hint::retry_after(Span::from_secs(60)));
    /// gate.key("token 1").try_acquire().unwrap().settle(throttled);
    /// let permit = gate.call().soonest(["token 1", "token 2"]).try_acquire().unwrap();
    /// assert_eq!(permit.key(), "token 2");
    /// ```
    pub fn soonest<K: Into<String>>(self, keys: impl IntoIterator<Item = K>) -> Self {
        let rank = |key: &String| {
            self.gate.keys.find(key).map(|lane| lane.rank(&self.call, self.priority))
        };
        match keys.into_iter().map(Into::into).min_by_key(rank) {
            Some(key) => self.key(key),
            None => self,
        }
    }

    /// The cost of the call for each limit; 1 by default. A call that costs 0 of a limit is not
    /// subject to it. Costs that are known only from the response, such as tokens, are
    /// [estimated](tidegate::Call::estimated) if the call states no costs.
    pub fn costing(self, costs: [u32; LIMITS]) -> Self {
        Self { call: self.call.of_limits(costs), ..self }
    }

    /// How long the call may take in total, including waits and retries. A call that would wait longer is rejected as
    /// soon as that is known. [`run`](Self::run) also gives up an attempt in flight, which counts as failed. A call
    /// that had to wait is not sent if less time is left than the fastest recent call of its key took.
    pub fn with_timeout(self, timeout: Duration) -> Self {
        let deadline = self.gate.keys.settings.timer.now() + span(timeout);
        Self { call: self.call.deadline(deadline), ..self }
    }

    /// The priority in the queue: 7 is first, 0 is the default.
    pub fn with_priority(self, priority: u8) -> Self {
        Self { priority, ..self }
    }

    /// The server may execute the call twice. So it is also retried after a failure, such as a lost
    /// connection or a server error. By default, only rejected calls (429, 503) are retried, and what the server
    /// [invites](tidegate::Hint::may_repeat) the client to repeat.
    pub fn idempotent(self) -> Self {
        self.with_retry(Retry::Failed)
    }

    /// Limits the call to one attempt.
    pub fn once(self) -> Self {
        self.with_retry(Retry::Never)
    }

    fn with_retry(self, retry: Retry) -> Self {
        Self { call: self.call.retry(retry), ..self }
    }

    /// How long the call would wait if it joined the queue now, at the current rate: the longest wait of its keys. Zero
    /// if it would be sent at once. Changes nothing.
    ///
    /// # Errors
    /// [`Error::Rejected`] if it would be rejected.
    pub fn peek(&self) -> Result<Duration, Error> {
        let mut longest = Duration::ZERO;
        for name in &self.names {
            if let Some(lane) = self.gate.keys.find(name) {
                longest = longest.max(duration(lane.peek(&self.call, self.priority)?));
            }
        }
        Ok(longest)
    }

    /// Returns a permit if the call may be sent now and no other call waits.
    pub fn try_acquire(self) -> Option<Permit<LIMITS, T>> {
        let mut permit = self.unused_permit();
        let call = permit.call;
        let admits = permit.layers.iter_mut().all(|layer| layer.try_take(&call));
        match admits {
            true => permit.layers.iter().for_each(|layer| observe::admitted(&layer.lane, None)),
            false => permit.take_back(),
        }
        admits.then_some(permit)
    }

    /// Waits for a permit: by priority, then first come, first served.
    ///
    /// The future joins the queue when it is first polled. It resolves to an [`Error`] if waiting does not help.
    pub fn acquire(self) -> Acquire<LIMITS, T> {
        Acquire::new(self.unused_permit())
    }

    pub(crate) fn unused_permit(self) -> Permit<LIMITS, T> {
        Permit::new(self.gate.keys.layers(self.names, self.priority), self.call)
    }

    /// Makes the call when it may be sent, and retries it within the policy's attempts, time and
    /// retry budget. Returns the last result.
    ///
    /// [`Classify`] reads the outcome from the result. The future may be dropped at any time, which
    /// abandons an attempt in flight.
    ///
    /// # Errors
    /// [`Error`] if no attempt was sent, or one was in flight at the deadline.
    pub async fn run<F, Fut>(self, send: F) -> Result<Fut::Output, Error>
    where
        F: FnMut() -> Fut,
        Fut: Future,
        Standard: Classify<Fut::Output, LIMITS>,
    {
        self.run_with(Standard, send).await
    }

    /// [`run`](Self::run) with a function that classifies results.
    ///
    /// ```
    /// use tidegate_tower::Gate;
    /// use tidegate_tower::tidegate::{Outcome, Reply};
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), tidegate_tower::Error> {
    /// let gate = Gate::adaptive();
    /// let mut left = 2;
    /// let send = || {
    ///     left -= 1;
    ///     let answer = if left > 0 { Err("slow down") } else { Ok("done") };
    ///     async move { answer }
    /// };
    /// let read = |result: &Result<&str, &str>| -> Reply {
    ///     if *result == Err("slow down") { Outcome::Throttled.into() } else { Outcome::Ok.into() }
    /// };
    /// assert_eq!(gate.call().run_with(read, send).await?, Ok("done"));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error`], as for [`run`](Self::run).
    pub async fn run_with<C, F, Fut>(self, classify: C, mut send: F) -> Result<Fut::Output, Error>
    where
        C: Classify<Fut::Output, LIMITS>,
        F: FnMut() -> Fut,
        Fut: Future,
    {
        let send = |()| send();
        drive(self, (), false, |()| Some(()), classify, send, |driven| Ok(driven?.0)).await
    }

    /// The key, if the call has none.
    pub(crate) fn or_key(mut self, key: &str) -> Self {
        if let [name] = &mut *self.names
            && name.is_empty()
        {
            *name = self.gate.keys.name(key);
        }
        self
    }

    /// Fills in what the request says about its call and the caller does not. A request that is not
    /// idempotent is retried only if the server throttled it or invites the client to repeat it.
    pub(crate) fn of_request(self, key: &str, is_idempotent: bool) -> Self {
        let call = self.or_key(key);
        match call.call.retried_after() {
            Retry::Rejected if is_idempotent => call.with_retry(Retry::Failed),
            Retry::Rejected => call.with_retry(Retry::Invited),
            _ => call,
        }
    }
}

impl<const LIMITS: usize, T: Timer> From<&Gate<LIMITS, T>> for Call<LIMITS, T> {
    fn from(gate: &Gate<LIMITS, T>) -> Self {
        gate.call()
    }
}

impl<const LIMITS: usize, T: Timer> From<Gate<LIMITS, T>> for Call<LIMITS, T> {
    fn from(gate: Gate<LIMITS, T>) -> Self {
        Self::new(gate)
    }
}

#[cfg(feature = "tokio")]
impl<const LIMITS: usize> Call<LIMITS> {
    /// The time by which the call must end. See [`with_timeout`](Self::with_timeout).
    pub fn with_deadline(self, deadline: impl Into<tokio::time::Instant>) -> Self {
        let deadline = self.gate.keys.settings.timer.at(deadline.into());
        Self { call: self.call.deadline(deadline), ..self }
    }
}

impl<const LIMITS: usize, T: Timer> fmt::Debug for Call<LIMITS, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("names", &self.names.iter().map(|name| &**name).collect::<Vec<_>>())
            .field("ask", &self.call)
            .field("priority", &self.priority)
            .finish_non_exhaustive()
    }
}
