//! The result of a call.

use crate::hint::Hint;

/// The result of a call, as far as it matters for throttling.
///
/// ```
/// use tidegate::{Hint, Outcome, Reply, Span};
///
/// assert!(Outcome::Throttled.is_pushback());
/// assert!(!Outcome::Failed.is_pushback());
/// // Add what the server said about its limit:
/// let reply: Reply = Outcome::Throttled.with(Hint::retry_after(Span::from_secs(2)));
/// assert_eq!(reply.hints[0].retry_after, Some(Span::from_secs(2)));
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Outcome {
    /// The call was served.
    Ok,
    /// The server throttled: this caller is over its limit (HTTP 429).
    Throttled,
    /// The server throttled: it is overloaded by all its clients (HTTP 503).
    Busy,
    /// No usable response: a lost connection, a network timeout, a server error.
    Failed,
    /// Abandoned by the client: dropped, cancelled or timed out. Frees its slot and teaches nothing.
    Abandoned,
    /// The server throttled, and a short wait does not help: a daily or monthly quota is exhausted, the account is
    /// unpaid, or the plan does not include the call. The call is not retried and does not affect the rate. If the
    /// server says when the quota is renewed, other calls wait until then, up to the policy's ceiling.
    ///
    /// ```
    /// use tidegate::{Call, Controller, Decision, Hint, Instant, Outcome, Policy, Reason, Span};
    ///
    /// let now = Instant::ZERO;
    /// let mut gate: Controller = Controller::new(Policy::named("adaptive").unwrap(), 7, now);
    /// let Decision::Admit(permit) = gate.poll(now, &Call::new()) else { panic!() };
    /// let reply = Outcome::Exhausted.with(Hint::retry_after(Span::from_secs(1_800)));
    /// gate.settle(now, permit, reply);
    /// assert_eq!(gate.retry(now, &Call::new(), reply), Err(Reason::Exhausted));
    /// assert!(matches!(gate.poll(now, &Call::new()), Decision::Wait(_)));
    /// ```
    Exhausted,
}

impl Outcome {
    /// The outcome together with what the server said about its limit.
    ///
    /// If a controller has several limits, numbers without a unit apply to the first, and a
    /// cooldown applies to all. Use [`Reply::about`] for a hint per limit.
    #[must_use]
    pub fn with<const LIMITS: usize>(self, hint: Hint) -> Reply<LIMITS> {
        let mut hints = [hint.of_the_call(); LIMITS];
        if let Some(first) = hints.first_mut() {
            *first = hint;
        }
        Reply { outcome: self, hints, used: [None; LIMITS] }
    }

    /// The outcome and the actual cost of the call for each limit.
    #[must_use]
    pub fn using<const LIMITS: usize>(self, used: [u32; LIMITS]) -> Reply<LIMITS> {
        Reply::from(self).using(used)
    }

    /// Whether the server asked for fewer calls: [`Throttled`](Self::Throttled) or
    /// [`Busy`](Self::Busy).
    #[must_use]
    pub const fn is_pushback(self) -> bool {
        matches!(self, Self::Throttled | Self::Busy)
    }

    /// Counts how many successes are missing until a server that did not serve a call is trusted with
    /// retries again: two. (After one, a retry could meet a server that serves every second call.)
    pub(crate) const fn count_down(self, missing: &mut u8) {
        *missing = match self {
            Self::Throttled | Self::Busy | Self::Failed => 2,
            Self::Ok => missing.saturating_sub(1),
            Self::Abandoned | Self::Exhausted => *missing,
        };
    }

    /// Whether the same call may succeed later.
    #[must_use]
    pub const fn is_retryable(self) -> bool {
        matches!(self, Self::Throttled | Self::Busy | Self::Failed)
    }
}

/// The complete result of a call: the outcome, the server's hints, and the actual cost if known.
///
/// An [`Outcome`] converts into a reply, so `settle(now, permit, Outcome::Ok)` works.
///
/// ```
/// use tidegate::{Outcome, Reply};
///
/// let plain: Reply = Outcome::Ok.into();
/// assert_eq!(plain.used, [None]);
/// // One request, 812 tokens where 1000 had been asked for:
/// let exact = Outcome::Ok.using([1, 812]);
/// assert_eq!(exact.used, [Some(1), Some(812)]);
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Reply<const LIMITS: usize = 1> {
    /// The outcome of the call.
    pub outcome: Outcome,
    /// What the server said about each limit.
    pub hints: [Hint; LIMITS],
    /// The actual cost for each limit, in the units of the call. `None` keeps the stated cost. A
    /// lower cost is refunded; a higher one is a debt that delays later calls.
    pub used: [Option<u32>; LIMITS],
}

impl<const LIMITS: usize> Reply<LIMITS> {
    /// The outcome together with what the server said about each limit: a hint for each, in the
    /// order of the controller's limits. [`http::Answer::about`](crate::signal::http::Answer::about)
    /// finds them in a response.
    ///
    /// A throttled call then counts only against the limits that are used up. If a hint says that less is left than the
    /// call costs, the other limits learn nothing from it.
    ///
    /// ```
    /// use tidegate::{Call, Controller, Decision, Hint, Instant, Outcome, Policy, Reply};
    /// use tidegate::law::Adaptive;
    ///
    /// let now = Instant::ZERO;
    /// let mut gate: Controller<Adaptive, 2> =
    ///     Controller::new(Policy::of([Adaptive::DEFAULT; 2]), 7, now);
    /// let Decision::Admit(permit) = gate.poll(now, &Call::of([1, 900])) else { panic!() };
    /// // Requests are left, and too few tokens.
    /// let hints = [Hint::remaining(59), Hint::remaining(600)];
    /// gate.settle(Instant::from_nanos(9_000), permit, Reply::about(Outcome::Throttled, hints));
    /// let mut intervals = gate.intervals(now);
    /// assert_eq!(intervals.next(), Some(None)); // still open
    /// assert!(intervals.next().unwrap().is_some());
    /// ```
    #[must_use]
    pub const fn about(outcome: Outcome, hints: [Hint; LIMITS]) -> Self {
        Self { outcome, hints, used: [None; LIMITS] }
    }

    /// The same reply with the actual cost of the call for each limit.
    #[must_use]
    pub fn using(self, used: [u32; LIMITS]) -> Self {
        Self { used: used.map(Some), ..self }
    }
}

/// The result of a call: a [`Reply`], a reference to one (which is not copied), or an [`Outcome`].
///
/// ```
/// use tidegate::{AsReply, Hint, Outcome, Reply};
///
/// fn outcome(reply: impl AsReply) -> Outcome {
///     reply.with_reply(|reply: &Reply| reply.outcome)
/// }
/// let busy = Outcome::Busy.with(Hint::NONE);
/// assert_eq!([outcome(&busy), outcome(busy), outcome(Outcome::Busy)], [Outcome::Busy; 3]);
/// ```
pub trait AsReply<const LIMITS: usize = 1> {
    /// Calls `act` with the reply.
    fn with_reply<R>(&self, act: impl FnOnce(&Reply<LIMITS>) -> R) -> R;
}

impl<const LIMITS: usize> AsReply<LIMITS> for Reply<LIMITS> {
    fn with_reply<R>(&self, act: impl FnOnce(&Self) -> R) -> R {
        act(self)
    }
}

impl<const LIMITS: usize> AsReply<LIMITS> for Outcome {
    fn with_reply<R>(&self, act: impl FnOnce(&Reply<LIMITS>) -> R) -> R {
        act(&Reply::from(*self))
    }
}

impl<const LIMITS: usize, T: AsReply<LIMITS>> AsReply<LIMITS> for &T {
    fn with_reply<R>(&self, act: impl FnOnce(&Reply<LIMITS>) -> R) -> R {
        (**self).with_reply(act)
    }
}

impl<const LIMITS: usize> From<Outcome> for Reply<LIMITS> {
    fn from(outcome: Outcome) -> Self {
        Self { outcome, hints: [Hint::NONE; LIMITS], used: [None; LIMITS] }
    }
}
