//! How long calls take: the slowest recent one, and the fastest.

use crate::time::{Instant, Span};

/// Learns how long calls take, so that a call that cannot finish in time is not started.
///
/// A call has two deadlines: it must be sent by the first ([`Call::deadline`](crate::Call::deadline)) and finish by the
/// second, which the caller sets. This type estimates the time between them: the longest duration of recent calls. A
/// longer call counts at once. Each shorter call reduces the difference by an eighth.
///
/// ```
/// use tidegate::{Instant, Span, call_time::CallTime};
///
/// let mut time = CallTime::new();
/// let (now, done_by) = (Instant::ZERO, Instant::from_nanos(10_000_000_000));
/// assert_eq!(time.leave_by(now, done_by), done_by);
/// time.took(Span::from_secs(3));
/// assert!(time.leave_by(now, done_by) - now < Span::from_millis(7_001));
/// ```
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct CallTime {
    /// In units of 2^20 ns, which is about a millisecond: seven weeks fit.
    usual: u32,
}

const UNIT: u32 = 20;

impl CallTime {
    /// An estimate of zero, before the first call.
    #[must_use]
    pub const fn new() -> Self {
        Self { usual: 0 }
    }

    /// A call was given up after `span`. It is assumed to take at least a quarter longer.
    pub fn took_longer(&mut self, span: Span) {
        self.took(span + Span::from_nanos(span.as_nanos() >> 2));
    }

    /// A call took this long.
    pub fn took(&mut self, span: Span) {
        let took = u32::try_from(span.as_nanos() >> UNIT).unwrap_or(u32::MAX);
        let shorter = self.usual.saturating_sub(took);
        self.usual = took.max(self.usual.saturating_sub(shorter.div_ceil(8)));
    }

    /// When a call must be sent to finish by `done_by`.
    ///
    /// If that time has passed, the estimate falls by a quarter, so that one call is started and measured after several
    /// were rejected.
    pub fn leave_by(&mut self, now: Instant, done_by: Instant) -> Instant {
        let leave_by = done_by - Span::from_nanos(u64::from(self.usual) << UNIT);
        if leave_by < now {
            self.usual = self.usual.saturating_sub(self.usual.div_ceil(4));
        }
        leave_by
    }
}

/// Learns how long the fastest recent call took, so that a call that waited is not sent with less time than any of them
/// needed.
///
/// For a client with many calls in flight: unlike [`CallTime`], it rejects no call because of one slow response. A faster
/// call counts at once. Each slower call raises the estimate by an eighth at most.
///
/// ```
/// use tidegate::{Instant, Span, call_time::FastestCall};
///
/// let (now, done_by) = (Instant::ZERO, Instant::from_nanos(10_000_000_000));
/// let fastest = FastestCall::default().took(Span::from_secs(3)).took(Span::from_secs(5));
/// assert_eq!(fastest.span(), Span::from_millis(3_375));
/// assert_eq!(fastest.leave_by(now, done_by), done_by - fastest.span());
/// ```
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct FastestCall {
    span: Span,
}

impl FastestCall {
    /// The estimate with this value. Zero if it is unknown, as before the first call.
    #[must_use]
    pub const fn of(span: Span) -> Self {
        Self { span }
    }

    /// The estimate. Zero if it is unknown.
    #[must_use]
    pub const fn span(self) -> Span {
        self.span
    }

    /// The estimate after a call that took this long.
    #[must_use]
    pub fn took(self, span: Span) -> Self {
        let nanos = self.span.as_nanos();
        let usual = if nanos == 0 { Span::MAX } else { self.span + Span::from_nanos(nanos >> 3) };
        Self::of(usual.min(span))
    }

    /// When a call that is made `now` must be sent to finish by `done_by`.
    ///
    /// A call that has less time than the estimate from the start may be sent until `done_by`, so that a server that has
    /// become faster is found.
    #[must_use]
    pub fn leave_by(self, now: Instant, done_by: Instant) -> Instant {
        if done_by - now < self.span { done_by } else { done_by - self.span }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Span::from_millis(millis)
    }

    #[test]
    fn the_estimate_is_the_longest_call_and_falls_by_an_eighth_or_if_it_is_late_by_a_quarter() {
        let units = |units: u64| Span::from_nanos(units << UNIT);
        let done_by = Instant::ZERO + units(100);
        let mut time = CallTime::new();
        // How long a call took, and how much earlier than `done_by` the next must be sent.
        for (took, usual) in [(50, 50), (80, 80), (80, 80), (0, 70), (61, 68), (68, 68), (67, 67)] {
            time.took(units(took));
            let leave_by = Instant::ZERO + units(100 - usual);
            for now in [Instant::ZERO, leave_by] {
                assert_eq!(time.leave_by(now, done_by), leave_by, "{took}");
            }
        }
        for usual in [67, 50, 37, 27] {
            let leave_by = Instant::ZERO + units(100 - usual);
            assert_eq!(time.leave_by(leave_by + units(1), done_by), leave_by);
        }
    }

    #[test]
    fn the_fastest_call_counts_at_once_and_is_forgotten_by_an_eighth_a_call() {
        let mut fastest = FastestCall::default();
        for (took, span) in
            [(80, 80), (40, 40), (60, 45), (46, 46), (80, 51), (7, 7), (0, 0), (9, 9)]
        {
            fastest = fastest.took(Span::from_nanos(took));
            assert_eq!(fastest.span(), Span::from_nanos(span));
        }
        // How much time a call has from the start, and how much of it at least when it is sent.
        for (has, needs) in [(100, 9), (9, 9), (8, 0), (0, 0)] {
            let done_by = at(1) + Span::from_nanos(has);
            assert_eq!(done_by - fastest.leave_by(at(1), done_by), Span::from_nanos(needs));
        }
    }

    proptest! {
        #[test]
        fn a_call_that_takes_as_long_as_usual_is_done_in_time(
            calls in prop::collection::vec(1..10_000u64, 1..50),
            done_by in 0..100_000u64,
        ) {
            let mut time = CallTime::new();
            calls.iter().for_each(|millis| time.took(Span::from_millis(*millis)));
            let latest = calls.last().copied().unwrap_or(0);
            // To the unit in which they are counted.
            let leave_by = time.leave_by(at(0), at(done_by));
            prop_assert!(leave_by <= at(done_by.saturating_sub(latest.saturating_sub(2))));
        }

        #[test]
        fn an_abandoned_call_counts_as_one_that_took_a_quarter_longer(
            before: u64,
            nanos in 0..1_000_000_000_000u64,
        ) {
            let (mut given_up, mut took) = (CallTime::new(), CallTime::new());
            given_up.took(Span::from_nanos(before));
            took.took(Span::from_nanos(before));
            given_up.took_longer(Span::from_nanos(nanos));
            took.took(Span::from_nanos(nanos + nanos / 4));
            prop_assert_eq!(given_up, took);
        }

        #[test]
        fn after_a_call_of_any_length_another_is_started(span: u64, left in 0..1_000u64) {
            let mut time = CallTime::new();
            time.took(Span::from_nanos(span));
            let tries = (0..100).position(|_| time.leave_by(at(0), at(left)) >= at(0));
            prop_assert!(tries.is_some());
        }

        #[test]
        fn one_slow_call_has_no_effect_after_some_dozens(slow in 1..1_000_000u64) {
            let mut time = CallTime::new();
            time.took(Span::from_millis(slow));
            (0..200).for_each(|_| time.took(Span::ZERO));
            prop_assert_eq!(time, CallTime::new());
        }
    }
}
