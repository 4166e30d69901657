//! What a server says about its limit.

use crate::time::Span;

/// The shortest time that most servers state, so it can mean any time up to a second.
pub(crate) const SHORTEST: Span = Span::from_secs(1);

/// What a server said about its limit, in plain numbers.
///
/// Servers are untrusted: every number here is a request.
/// [`gate::CooldownPolicy`](crate::gate::CooldownPolicy) limits cooldowns to the policy's ceiling,
/// and laws bound the effect of the other fields, which may have any value. The parsers of
/// [`signal`](crate::signal) return consistent hints: no limit or period of zero, at most the limit
/// left, and no reset beyond the period.
///
/// ```
/// use tidegate::{Hint, Span};
///
/// assert_eq!(Hint::NONE.retry_after, None);
/// let hint = Hint::retry_after(Span::from_secs(1)).and_remaining(0);
/// assert_eq!((hint.retry_after, hint.remaining), (Some(Span::from_secs(1)), Some(0)));
/// ```
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Hint {
    /// How long to wait before the next call (`Retry-After`, RFC 9110 section 10.2.3; the gRPC
    /// pushback, gRFC A6; CoAP's Max-Age, RFC 8516).
    pub retry_after: Option<Span>,
    /// How many calls are left: until [`reset`](Self::reset), or in the bucket (`r` of the IETF draft "`RateLimit`
    /// header fields", `RateLimit-Remaining` and similar).
    pub remaining: Option<u64>,
    /// How long until the whole limit is available again: the end of a fixed period, or the time at which a bucket is
    /// full (`t` of the draft, `RateLimit-Reset` and similar). Zero if it is available now.
    pub reset: Option<Span>,
    /// How many calls fit into a [`period`](Self::period), used or not (`q` of the draft, `RateLimit-Limit` and
    /// similar). Never zero if a parser of this crate set it.
    pub limit: Option<u64>,
    /// The length of the server's period (`w` of the draft, its "time window"). Never zero if a parser of this crate
    /// set it.
    pub period: Option<Span>,
    /// The server asks not to retry this call (a negative gRPC pushback, gRFC A6; `x-should-retry: false`,
    /// `Stripe-Should-Retry: false`). Does not affect other calls.
    pub no_retry: bool,
    /// The server invites the client to repeat this call, even if its method is not idempotent (`x-should-retry: true`).
    pub may_repeat: bool,
    /// The limit counts calls in flight, not calls per time. A throttled call with this hint does
    /// not affect the rate. A law that limits concurrency treats it as
    /// [`Outcome::Busy`](crate::Outcome::Busy).
    pub concurrency: bool,
}

impl Hint {
    /// The server said nothing.
    pub const NONE: Self = Self {
        retry_after: None,
        remaining: None,
        reset: None,
        limit: None,
        period: None,
        no_retry: false,
        may_repeat: false,
        concurrency: false,
    };

    /// "Try again after `span`."
    #[must_use]
    pub const fn retry_after(span: Span) -> Self {
        Self { retry_after: Some(span), ..Self::NONE }
    }

    /// "`count` calls are left."
    #[must_use]
    pub const fn remaining(count: u64) -> Self {
        Self { remaining: Some(count), ..Self::NONE }
    }

    /// "`count` calls fit into each `period`."
    ///
    /// ```
    /// use tidegate::{Hint, Span};
    ///
    /// let daily = Hint::quota(1_000, Span::from_secs(86_400)).and_remaining(12);
    /// assert_eq!((daily.limit, daily.remaining), (Some(1_000), Some(12)));
    /// ```
    #[must_use]
    pub const fn quota(count: u64, period: Span) -> Self {
        Self { limit: Some(count), period: Some(period), ..Self::NONE }
    }

    /// The same hint with a requested cooldown.
    #[must_use]
    pub const fn and_retry_after(self, span: Span) -> Self {
        Self { retry_after: Some(span), ..self }
    }

    /// The same hint with the number of calls that are left.
    #[must_use]
    pub const fn and_remaining(self, count: u64) -> Self {
        Self { remaining: Some(count), ..self }
    }

    /// The same hint with the time until the whole limit is available again.
    #[must_use]
    pub const fn and_reset(self, span: Span) -> Self {
        Self { reset: Some(span), ..self }
    }

    /// The same hint with the limit in calls.
    #[must_use]
    pub const fn and_limit(self, count: u64) -> Self {
        Self { limit: Some(count), ..self }
    }

    /// The same hint with the request not to retry this call.
    #[must_use]
    pub const fn and_no_retry(self) -> Self {
        Self { no_retry: true, ..self }
    }

    /// The same hint for a limit that counts calls in flight.
    #[must_use]
    pub const fn and_concurrency(self) -> Self {
        Self { concurrency: true, ..self }
    }

    /// The part that concerns every limit.
    pub(crate) const fn of_the_call(self) -> Self {
        Self {
            retry_after: self.retry_after,
            no_retry: self.no_retry,
            may_repeat: self.may_repeat,
            concurrency: self.concurrency,
            ..Self::NONE
        }
    }

    /// Whether it says anything of the limit, besides a cooldown.
    pub(crate) const fn describes_limit(&self) -> bool {
        self.remaining.is_some()
            || self.reset.is_some()
            || self.limit.is_some()
            || self.period.is_some()
    }

    /// Whether the server says that enough is left for a call of `cost`.
    pub(crate) fn has_room(&self, cost: u32) -> bool {
        self.remaining >= Some(cost.into())
    }

    /// Whether less is left than `cost`.
    pub(crate) const fn is_used_up(&self, cost: u32) -> bool {
        matches!(self.remaining, Some(left) if left < cost as u64)
    }

    /// How long nothing should be sent: the requested cooldown, or if there is none and no call is left, the time until
    /// the whole limit is available again, if that is more than a second.
    ///
    /// Servers that state only the end of the period when they throttle (GitHub, X) mean this as a cooldown. A second
    /// is the shortest time that most of them state, so it can mean any time up to a second, and a token bucket has room
    /// for a call long before it is full. A requested cooldown takes precedence over the reset, as the IETF draft requires.
    ///
    /// ```
    /// use tidegate::{Hint, Span};
    ///
    /// let (short, long) = (Span::from_secs(2), Span::from_secs(900));
    /// assert_eq!(Hint::remaining(0).and_reset(long).cooldown(), Some(long));
    /// assert_eq!(Hint::retry_after(short).and_remaining(0).and_reset(long).cooldown(), Some(short));
    /// assert_eq!(Hint::remaining(1).and_reset(long).cooldown(), None);
    /// assert_eq!(Hint::remaining(0).and_reset(Span::from_secs(1)).cooldown(), None);
    /// ```
    #[must_use]
    pub const fn cooldown(&self) -> Option<Span> {
        match (self.retry_after, self.remaining, self.reset) {
            (None, Some(0), Some(reset)) if reset.as_nanos() > SHORTEST.as_nanos() => Some(reset),
            (asked, ..) => asked,
        }
    }
}
