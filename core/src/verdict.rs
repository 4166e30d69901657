//! Calls, and the decisions about them.

use crate::costs::Costs;
use crate::permit::Permit;
use crate::time::{Instant, Span};

/// A call to be sent: its cost and deadline.
///
/// A small `Copy` value that the caller keeps. Poll with the same call until the decision is
/// `Admit`. For the next attempt, poll with the call that
/// [`Controller::retry`](crate::Controller::retry) returns.
///
/// ```
/// use tidegate::{Call, Instant};
///
/// let plain: Call = Call::new();
/// assert_eq!(plain.attempt(), 0);
/// // Three calls' worth, and of no use after the first second:
/// let heavy = Call::new().cost(3).deadline(Instant::from_nanos(1_000_000_000));
/// // One request and a thousand tokens, for a controller with two limits:
/// let tokens = Call::of([1, 1_000]);
/// # let _: (Call, Call<2>) = (heavy, tokens);
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Call<const LIMITS: usize = 1, C = [u32; LIMITS]> {
    pub(crate) costs: C,
    pub(crate) deadline: Instant,
    pub(crate) attempt: u16,
    /// See [`estimated`](Self::estimated).
    pub(crate) estimated: bool,
    /// See [`retry`](Self::retry).
    pub(crate) retry: Retry,
    pub(crate) not_before: Instant,
    /// The step of the backoff schedule from which the next failure continues.
    pub(crate) step: Span,
    /// When the first attempt failed. Unused in a first attempt.
    pub(crate) first_failed: Instant,
}

impl<const LIMITS: usize, C: Costs<LIMITS>> Call<LIMITS, C> {
    /// A first attempt that costs one of every limit, or as [`estimated`](Call::estimated), and has no deadline.
    #[must_use]
    pub const fn new() -> Self {
        let estimated = C::ARE_STATED;
        Self { estimated, ..Self::first(C::ONES) }
    }

    const fn first(costs: C) -> Self {
        Self {
            costs,
            deadline: Instant::MAX,
            attempt: 0,
            estimated: false,
            retry: Retry::Failed,
            not_before: Instant::ZERO,
            step: Span::ZERO,
            first_failed: Instant::MAX, // not zero, so that small machines link no code to clear the call
        }
    }

    /// The same call, which must be sent at `deadline` or earlier. A wait that would end later is
    /// rejected at once ([`Reason::Late`]).
    #[must_use]
    pub const fn deadline(self, deadline: Instant) -> Self {
        Self { deadline, ..self }
    }

    /// The same call, to be tried again only after the outcomes that `retry` includes.
    ///
    /// ```
    /// use tidegate::{Call, Controller, Instant, Outcome, Policy, Reason, Retry};
    ///
    /// let now = Instant::ZERO;
    /// let mut gate: Controller = Controller::new(Policy::named("aimd").unwrap(), 7, now);
    /// let payment = Call::new().retry(Retry::Throttled);
    /// assert!(gate.retry(now, &payment, Outcome::Throttled).is_ok());
    /// assert_eq!(gate.retry(now, &payment, Outcome::Failed), Err(Reason::Unsafe));
    /// ```
    #[must_use]
    pub const fn retry(self, retry: Retry) -> Self {
        Self { retry, ..self }
    }

    /// After which outcomes it is tried again.
    #[must_use]
    pub const fn retried_after(&self) -> Retry {
        self.retry
    }

    /// Earliest time at which this attempt may be sent: the end of the call's backoff, or
    /// [`Instant::ZERO`] for a first attempt.
    #[must_use]
    pub const fn not_before(&self) -> Instant {
        self.not_before
    }

    /// Latest time at which this attempt may be sent: its [`deadline`](Self::deadline), or earlier
    /// for a retry if the policy has `elapsed`. [`Instant::MAX`] if there is none.
    ///
    /// ```
    /// use tidegate::{Call, Controller, Instant, Outcome, Policy, Span};
    ///
    /// let now = Instant::ZERO;
    /// let policy = Policy::named("aimd").unwrap().elapsed(Some(Span::from_secs(60)));
    /// let mut gate: Controller = Controller::new(policy, 7, now);
    /// let call: Call = Call::new();
    /// assert_eq!(call.not_after(), Instant::MAX);
    /// let next = gate.retry(now, &call, Outcome::Throttled).unwrap();
    /// assert_eq!(next.not_after(), now + Span::from_secs(60));
    /// ```
    #[must_use]
    pub const fn not_after(&self) -> Instant {
        self.deadline
    }

    /// Number of completed attempts: 0 for a first attempt, at most 65 535.
    #[must_use]
    pub const fn attempt(&self) -> u16 {
        self.attempt
    }

    /// What it costs of each limit.
    #[must_use]
    pub const fn costs(&self) -> C {
        self.costs
    }

    /// The same attempt with these costs, which are not [estimated](Call::estimated).
    #[must_use]
    pub const fn of_limits<const N: usize>(&self, costs: [u32; N]) -> Call<N> {
        let Self { deadline, attempt, retry, not_before, step, first_failed, .. } = *self;
        Call { costs, deadline, attempt, estimated: false, retry, not_before, step, first_failed }
    }
}

impl<const LIMITS: usize> Call<LIMITS> {
    /// A first attempt that costs `costs`, one number for each limit of the controller. A call that
    /// costs nothing of a limit is not subject to it, and teaches its law nothing.
    #[must_use]
    pub const fn of(costs: [u32; LIMITS]) -> Self {
        Self::first(costs)
    }

    /// The same call, with estimated costs: a cost of 0 or 1 for a limit beyond the first stands for a cost that is not
    /// known before the call, such as the tokens of a language model or the points of GraphQL. Once responses report
    /// the actual costs ([`Reply::used`]) for a limit that the policy or the server sets, the mean of about sixteen
    /// calls is charged.
    ///
    /// ```
    /// use tidegate::law::Fixed;
    /// use tidegate::{Call, Controller, Decision, Instant, Outcome, Policy, Quota};
    ///
    /// let now = Instant::ZERO;
    /// let [requests, tokens] = [10, 1_000].map(|each| Quota::per_second(each).unwrap().with_burst(each as u32));
    /// let laws = [requests.unwrap(), tokens.unwrap()].map(Fixed::new);
    /// let mut gate: Controller<Fixed, 2> = Controller::new(Policy::of(laws), 7, now);
    /// let call = Call::new();
    /// let Decision::Admit(permit) = gate.poll(now, &call) else { panic!() };
    /// assert_eq!(permit.costs(), [1, 1]);
    /// gate.settle(now, permit, Outcome::Ok.using([1, 250]));
    /// let Decision::Admit(permit) = gate.poll(now, &call) else { panic!() };
    /// assert_eq!(permit.costs(), [1, 250]);
    /// ```
    ///
    /// [`Reply::used`]: crate::Reply::used
    #[must_use]
    pub const fn estimated(self) -> Self {
        Self { estimated: true, ..self }
    }
}

impl Call<1> {
    /// The same call with another cost, in calls' worth of the limit. A call with a cost of zero is not subject to the
    /// limit; one with a cost above the burst is rejected ([`Reason::TooBig`]).
    #[must_use]
    pub const fn cost(self, cost: u32) -> Self {
        Self { costs: [cost], ..self }
    }
}

impl<const LIMITS: usize, C: Costs<LIMITS>> Default for Call<LIMITS, C> {
    fn default() -> Self {
        Self::new()
    }
}

/// After which outcomes a call is tried again, from the most to the least permissive. The server may have executed a
/// call that failed, so a call whose repetition does harm, such as a payment, is not tried again after that.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[repr(u8)]
pub enum Retry {
    /// After all that can be [retried](crate::Outcome::is_retryable). The default.
    Failed,
    /// After a rejection ([`Throttled`](crate::Outcome::Throttled), [`Busy`](crate::Outcome::Busy)), and what the
    /// server [invites](crate::Hint::may_repeat) the client to repeat.
    Rejected,
    /// After [`Throttled`](crate::Outcome::Throttled), and what the server invites the client to repeat.
    Invited,
    /// After [`Throttled`](crate::Outcome::Throttled): the server certainly did not execute the call.
    Throttled,
    /// After none.
    Never,
}

/// The verdict of the gates on a call, from the most to the least permissive.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Verdict {
    /// The call may be sent now.
    Admit,
    /// Poll again at this instant, which is in the future. Polling earlier is harmless; polling
    /// later only costs throughput.
    Wait(Instant),
    /// Too many calls are in flight. Poll again when one has settled, or at
    /// [`Controller::next_at`](crate::Controller::next_at), when a law's own limit grows.
    Full,
    /// The call will not be sent. Do not poll again.
    Reject(Reason),
}

/// Why a call was rejected.
///
/// ```
/// use tidegate::{Call, Controller, Decision, Instant, Policy, Quota, Reason, Span, law::Fixed};
///
/// let law = Fixed::new(Quota::per_second(10).unwrap()); // one at a time
/// let mut gate: Controller<Fixed> = Controller::new(Policy::new(law), 7, Instant::ZERO);
/// let Decision::Admit(_) = gate.poll(Instant::ZERO, &Call::new()) else { panic!() };
/// // The next may be sent after 100 ms, which this one learns at once and not after 50 ms.
/// let due = Instant::ZERO + Span::from_millis(100);
/// let hasty = Call::new().deadline(Instant::ZERO + Span::from_millis(50));
/// assert_eq!(gate.poll(Instant::ZERO, &hasty), Decision::Reject(Reason::Late(due)));
/// // Two calls' worth never fit into a burst of one, however long they would wait.
/// assert_eq!(gate.poll(due, &Call::new().cost(2)), Decision::Reject(Reason::TooBig));
/// ```
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
// A byte tells them apart: the compiler would take eight, to fill the room before the instant, and
// code for 32-bit machines would compare all of them.
#[repr(u8)]
pub enum Reason {
    /// The call cannot meet its deadline: it could be sent at this instant.
    Late(Instant),
    /// The law's limit for this second is used up, and it rejects further calls.
    OverLimit,
    /// The call is a retry, and the successes so far have not paid for it.
    RetryBudget,
    /// Its cost is more than a limit's burst, so it can never fit.
    TooBig,
    /// The call would have to wait beyond the range of the clock.
    Never,
    /// The [`queue`](crate::queue) is full.
    QueueFull,
    /// The policy's attempts are used up, or the call has only one. Only for another attempt.
    Attempts,
    /// The server may have executed the call, which then must not be repeated: see [`Call::retry`]. Only for another
    /// attempt.
    Unsafe,
    /// Another attempt would not help: the call was served or abandoned, or the server asks not to try it
    /// again. Only for another attempt.
    Final,
    /// The quota is used up ([`Outcome::Exhausted`](crate::Outcome::Exhausted)): a short wait does not help. Only for
    /// another attempt.
    Exhausted,
}

impl core::fmt::Display for Reason {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Late(_) => "the wait would exceed the call's deadline",
            Self::OverLimit => "the law's limit for this second is used up",
            Self::RetryBudget => "the retry budget is spent",
            Self::TooBig => "the cost exceeds the limit's burst, so the call never fits",
            Self::Never => "the wait would exceed the range of the clock",
            Self::Attempts => "no more attempts are allowed",
            Self::Unsafe => "the server may have executed the call, which is not safe to repeat",
            Self::Final => "another attempt would not help",
            Self::Exhausted => "the quota is used up, or the account may not make this call",
            Self::QueueFull => "the queue is full",
        })
    }
}

impl core::error::Error for Reason {}

/// The answer to a poll: a [`Verdict`] whose `Admit` carries the permit.
///
/// ```
/// use tidegate::{Call, Controller, Decision, Instant, Policy, Verdict};
///
/// let mut gate: Controller = Controller::new(Policy::named("fixed").unwrap(), 7, Instant::ZERO);
/// let call = Call::new();
/// let Decision::Admit(permit) = gate.poll(Instant::ZERO, &call) else { panic!() };
/// // A wait reserves nothing: all calls get the same instant, and the first one is then admitted.
/// let due = Instant::from_nanos(100_000_000);
/// assert_eq!(gate.poll(Instant::ZERO, &call), Decision::Wait(due));
/// assert_eq!(gate.poll(Instant::ZERO, &call), Decision::Wait(due));
/// assert_eq!(gate.check(due, &call), Verdict::Admit);
/// # let _ = permit;
/// ```
#[derive(Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[must_use = "a permit that is not settled keeps its place"]
pub enum Decision<P = Permit> {
    /// The call may be sent now, and the gates have been charged for it.
    Admit(P),
    /// See [`Verdict::Wait`].
    Wait(Instant),
    /// See [`Verdict::Full`].
    Full,
    /// See [`Verdict::Reject`].
    Reject(Reason),
}

impl<P> Decision<P> {
    /// The same decision with another permit.
    pub fn map<Q>(self, permit: impl FnOnce(P) -> Q) -> Decision<Q> {
        match self {
            Self::Admit(old) => Decision::Admit(permit(old)),
            Self::Wait(until) => Decision::Wait(until),
            Self::Full => Decision::Full,
            Self::Reject(reason) => Decision::Reject(reason),
        }
    }
}
