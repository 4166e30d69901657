//! The number of calls in flight.

use core::num::NonZeroU16;

use crate::time::{Instant, Span};

/// How many calls may be in flight, and when a call without a response expires.
///
/// ```
/// use tidegate::{Span, gate::{ConcurrencyError, ConcurrencyLimit}};
///
/// let narrow = ConcurrencyLimit::new(4, Span::from_secs(30)).unwrap();
/// assert_eq!(narrow.limit(), 4);
/// assert_eq!(ConcurrencyLimit::new(0, Span::from_secs(30)), Err(ConcurrencyError::ZeroLimit));
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct ConcurrencyLimit {
    limit: u16,
    expiry: Span,
}

impl ConcurrencyLimit {
    /// Practically no limit (65,535 calls), with an expiry of five minutes.
    pub const DEFAULT: Self = Self { limit: u16::MAX, expiry: Span::from_secs(300) };

    /// At most `limit` calls in flight. A call that does not settle keeps its place for at least `expiry`
    /// and for less than twice that.
    ///
    /// Choose an expiry that is longer than the longest call: only the cooldown of a later response
    /// counts.
    ///
    /// # Errors
    /// [`ConcurrencyError::ZeroLimit`] if `limit` is zero, and [`ConcurrencyError::ZeroExpiry`] if
    /// `expiry` is.
    pub const fn new(limit: u16, expiry: Span) -> Result<Self, ConcurrencyError> {
        if limit == 0 {
            return Err(ConcurrencyError::ZeroLimit);
        }
        if expiry.as_nanos() == 0 {
            return Err(ConcurrencyError::ZeroExpiry);
        }
        Ok(Self { limit, expiry })
    }

    /// At most `limit` calls in flight, each of which keeps its place until it settles, however
    /// long that takes. Use it for a server that counts calls in flight, such as an MQTT broker
    /// with its Receive Maximum.
    ///
    /// ```
    /// use core::num::NonZeroU16;
    /// use tidegate::gate::ConcurrencyLimit;
    ///
    /// const TWO: ConcurrencyLimit = ConcurrencyLimit::until_settled(NonZeroU16::new(2).unwrap());
    /// assert_eq!(TWO.limit(), 2);
    /// ```
    #[must_use]
    pub const fn until_settled(limit: NonZeroU16) -> Self {
        Self { limit: limit.get(), expiry: Span::MAX }
    }

    /// The same policy with at most `limit` calls in flight.
    pub(crate) fn narrowed(self, limit: NonZeroU16) -> Self {
        Self { limit: self.limit.min(limit.get()), ..self }
    }

    /// The most calls in flight.
    #[must_use]
    pub const fn limit(self) -> u16 {
        self.limit
    }

    /// The minimum time for which a call without a response keeps its place.
    #[must_use]
    pub const fn expiry(self) -> Span {
        self.expiry
    }
}

impl Default for ConcurrencyLimit {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// An error in a [`ConcurrencyLimit`].
///
/// ```
/// use tidegate::{Span, gate::{ConcurrencyError, ConcurrencyLimit}};
///
/// // "Without a limit" is the largest number.
/// assert_eq!(ConcurrencyLimit::new(0, Span::from_secs(30)), Err(ConcurrencyError::ZeroLimit));
/// assert!(ConcurrencyLimit::new(u16::MAX, Span::from_secs(30)).is_ok());
/// // "Without an expiry" is the longest one, under which a lost call keeps its place for good.
/// assert_eq!(ConcurrencyLimit::new(4, Span::ZERO), Err(ConcurrencyError::ZeroExpiry));
/// assert!(ConcurrencyLimit::new(4, Span::MAX).is_ok());
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum ConcurrencyError {
    /// With a limit of zero, no call could ever be sent.
    ZeroLimit,
    /// With an expiry of zero, no call would ever count.
    ZeroExpiry,
}

impl core::fmt::Display for ConcurrencyError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::ZeroLimit => "a concurrency limit must be at least 1",
            Self::ZeroExpiry => "a concurrency limit's expiry must be at least 1 ns",
        })
    }
}

impl core::error::Error for ConcurrencyError {}

/// Counts the calls in flight. Time is divided into periods of one expiry. A call counts in the
/// period in which it was sent and in the next one, and is considered lost after that. The memory
/// does not depend on the number of calls, and nothing is searched.
#[derive(Clone, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(crate) struct InFlight {
    /// When the current period ends.
    ends: Instant,
    /// The number of the current period, which a permit stores.
    period: u32,
    present: u16,
    before: u16,
}

impl InFlight {
    /// No calls in flight. Each controller starts with another `period`, so that it recognises
    /// permits of other controllers.
    pub(crate) const fn new(now: Instant, policy: ConcurrencyLimit, period: u32) -> Self {
        Self { ends: now.saturating_add(policy.expiry), period, present: 0, before: 0 }
    }

    /// Changes the expiry to that of `policy`. Calls in flight keep their places until their old
    /// expiry ends, and for at most two new expiry times after that.
    pub(crate) fn renew(&mut self, now: Instant, policy: ConcurrencyLimit) {
        // The clock may have stepped back.
        self.ends = self.ends.max(now).saturating_add(policy.expiry);
    }

    /// Calls whose permits are lost keep their places for `span`, but at most for an expiry.
    #[cfg(feature = "shared")]
    pub(crate) fn keep(&mut self, now: Instant, calls: u16, span: Span, policy: ConcurrencyLimit) {
        self.ends = now.saturating_add(span.min(policy.expiry));
        self.before = self.before.saturating_add(calls);
    }

    /// Calls in flight, including expired ones whose place has not been needed.
    pub(crate) const fn count(&self) -> u16 {
        self.present.saturating_add(self.before)
    }

    /// Calls in flight that have not expired.
    pub(crate) fn alive(&self, now: Instant, policy: ConcurrencyLimit) -> u16 {
        if now < self.ends {
            self.count()
        } else if now.saturating_since(self.ends) < policy.expiry {
            self.present
        } else {
            0
        }
    }

    pub(crate) fn is_full(&self, now: Instant, policy: ConcurrencyLimit) -> bool {
        self.count() >= policy.limit && self.alive(now, policy) >= policy.limit
    }

    /// Counts a call. Returns the number of the period, for its permit.
    pub(crate) fn add(&mut self, now: Instant, policy: ConcurrencyLimit) -> u32 {
        if now >= self.ends {
            self.turn(now, policy);
        }
        self.present = self.present.saturating_add(1);
        self.period
    }

    /// Starts another period.
    #[cfg_attr(target_pointer_width = "64", cold)]
    fn turn(&mut self, now: Instant, policy: ConcurrencyLimit) {
        let one = now.saturating_since(self.ends) < policy.expiry;
        let (began, before) = if one { (self.ends, self.present) } else { (now, 0) };
        self.ends = began.saturating_add(policy.expiry);
        (self.present, self.before) = (0, before);
        // By two, so that calls from before the skipped period count as lost.
        self.period = self.period.wrapping_add(if one { 1 } else { 2 });
    }

    /// Ends a call of that period. A call that no longer counts is ignored.
    pub(crate) const fn remove(&mut self, period: u32) {
        let count = match self.period.wrapping_sub(period) {
            0 => &mut self.present,
            1 => &mut self.before,
            _ => return,
        };
        *count = count.saturating_sub(1);
    }

    /// Whether a call of that period still counts.
    pub(crate) const fn counts(&self, period: u32) -> bool {
        self.period.wrapping_sub(period) < 2
    }

    /// When expiry alone makes room. `None` if there is room already.
    pub(crate) fn ready_at(&self, policy: ConcurrencyLimit) -> Option<Instant> {
        if self.count() < policy.limit {
            return None;
        }
        let first = self.present < policy.limit;
        Some(if first { self.ends } else { self.ends.saturating_add(policy.expiry) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    const EXPIRY: u64 = 100;

    fn policy(limit: u16) -> ConcurrencyLimit {
        ConcurrencyLimit::new(limit, Span::from_nanos(EXPIRY)).unwrap()
    }

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    #[test]
    fn a_lost_call_frees_its_place_after_one_to_two_expiry_times() {
        let mut calls = InFlight::new(at(0), policy(1), 7);
        let lost = calls.add(at(0), policy(1));
        assert_eq!(calls.ready_at(policy(1)), Some(at(200)));
        assert_eq!(calls.ready_at(policy(2)), None, "there is room");
        assert!(calls.is_full(at(199), policy(1)));
        assert!(!calls.is_full(at(200), policy(1)));
        let next = calls.add(at(200), policy(1));
        assert!(!calls.counts(lost), "its place was reused");
        calls.remove(lost);
        assert_eq!(calls.count(), 1);
        calls.remove(next);
        assert_eq!(calls.count(), 0);
    }

    proptest! {
        /// The model is a list of the times at which calls were sent.
        #[test]
        fn a_place_is_kept_for_one_expiry_at_least_and_for_less_than_two(
            limit in 1..9u16,
            events in prop::collection::vec((0..3u8, any::<usize>(), 0..60u64), 0..300),
        ) {
            let policy = policy(limit);
            let (mut calls, mut out, mut now) = (InFlight::new(at(0), policy, u32::MAX), Vec::new(), 0);
            for (kind, which, step) in events {
                now += step;
                let younger = |age: u64| {
                    out.iter().filter(|(sent, _): &&(u64, u32)| now - sent < age).count()
                };
                let full = calls.is_full(at(now), policy);
                prop_assert!(full || younger(EXPIRY) < usize::from(limit));
                prop_assert!(!full || younger(2 * EXPIRY) >= usize::from(limit));
                if full {
                    let ready = calls.ready_at(policy).unwrap();
                    prop_assert!(!calls.is_full(ready, policy) && ready > at(now));
                    prop_assert!(calls.is_full(ready.saturating_sub(Span::from_nanos(1)), policy));
                }
                if kind > 0 && !full {
                    out.push((now, calls.add(at(now), policy)));
                } else if !out.is_empty() {
                    let (sent, period) = out.swap_remove(which % out.len());
                    prop_assert!(calls.counts(period) || now - sent >= EXPIRY);
                    calls.remove(period);
                }
            }
        }
    }
}
