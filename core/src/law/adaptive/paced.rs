//! Paced: calls are sent an interval apart.

use super::log::Log;
use super::probe::Probe;
use super::{AdaptiveState, Phase};
use crate::rng::Rng;
use crate::snapshot::fields;
use crate::time::{Instant, Span};

/// A grid of intervals, each with its draw, and the search for the rate.
///
/// The grid does not move with the draws, so a bucket of two absorbs them and a lone client loses
/// nothing. Without draws, the client that is in phase with the server's refill takes every token, and
/// the others meet an empty bucket. The draws narrow as the law becomes sure of its rate.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) struct Paced {
    /// The interval to return to after a dark time or an outage: that of the last good rate.
    pub(super) target: Log,
    pub(super) probe: Probe,
    /// Rejections since the cut that were taken for chance.
    pub(super) ignored: u8,
    /// Whether no call was served since the first rejection.
    pub(super) new: bool,
    /// Whether fewer than eight calls in a row were served since a hit, ever.
    pub(super) young: bool,
    /// Whether slow start has begun again before.
    pub(super) reopened: bool,
}

/// How late a timer may be without a call being lost for it. Most count milliseconds and begin with the
/// next one (tokio's, Node's); a client with a thousand calls a second would otherwise be as slow.
pub(super) const LATENESS: Span = Span::from_millis(2);

impl Paced {
    pub(super) const fn new(interval: Log) -> Self {
        Self {
            target: interval,
            probe: Probe::new(),
            ignored: 0,
            new: true,
            young: true,
            reopened: false,
        }
    }

    /// How many calls may be in flight while a first rate is searched for: one, and one more for each
    /// success since the cut. The others would be rejected with it.
    pub(super) fn wide(&self) -> Option<u16> {
        self.young.then_some(self.probe.successes.saturating_add(1))
    }
}

impl AdaptiveState {
    /// A call is sent: the next one is due an interval later. At most one interval is caught up, or as
    /// many as a late timer has missed.
    pub(super) fn advance(&mut self, now: Instant, cost: u32, rng: &mut Rng) {
        let interval = self.usual.interval_of(cost, self.interval(now));
        let Phase::Paced(paced) = &self.phase else { return };
        let width = (interval + Log::of_coarse(paced.probe.depth())).octaves(-2).span();
        let latest = now.saturating_add(self.longest_wait(interval));
        let interval = interval.span();
        let start = self.interval_end.max(now.saturating_sub(interval.max(LATENESS)));
        self.interval_end = start.saturating_add(interval);
        let half = width.halved(1);
        let drawn =
            self.interval_end.saturating_sub(half).saturating_add(rng.between(Span::ZERO, width));
        self.release = drawn.min(latest);
    }

    /// No wait is longer than the ceiling, unless the learned interval is.
    fn longest_wait(&self, interval: Log) -> Span {
        let ceiling = self.ceiling();
        if interval > ceiling { interval.octaves(1).span() } else { ceiling.span() }
    }

    pub(super) const fn target(&self) -> Log {
        match &self.phase {
            Phase::Open(_) => Log::ZERO,
            Phase::Paced(paced) => paced.target,
        }
    }

    /// The grid begins again: no call before `at`.
    pub(super) fn begin_at(&mut self, at: Instant) {
        self.release = at;
        self.interval_end = at;
    }

    /// After a rejection: the next call is sent between a half and three halves of an interval from now,
    /// or later. A cooldown that the server asked for is no time to catch up with.
    pub(super) fn back_off(&mut self, now: Instant, cooldown: Span, rng: &mut Rng) {
        let interval = self.interval(now).span();
        let mut next = rng.within(interval, interval.halved(1));
        if matches!(&self.phase, Phase::Paced(paced) if paced.young) {
            // The first rate is searched for from above: what is in flight is rejected too.
            next = next.max(self.round_trip());
        }
        let latest = now.saturating_add(self.longest_wait(self.interval));
        self.release = self.release.max(now.saturating_add(next.max(cooldown))).min(latest);
        self.interval_end = self.interval_end.max(now.saturating_add(interval.max(cooldown)));
    }

    /// After a recovery: the next call is sent within an interval from now, or sooner.
    pub(super) fn hasten(&mut self, now: Instant, rng: &mut Rng) {
        let interval = self.interval(now).span();
        let next = now.saturating_add(rng.between(Span::ZERO, interval));
        self.release = self.release.min(next);
        self.interval_end = self.interval_end.min(next);
    }

    /// A call cost more or less than it was charged for: the next one is due later or sooner.
    pub(super) fn shift(&mut self, now: Instant, by: Span, later: bool) {
        let shifted = |instant: Instant| match later {
            true => instant.saturating_add(by),
            false => instant.min(instant.saturating_sub(by).max(now)),
        };
        self.release = shifted(self.release);
        self.interval_end = shifted(self.interval_end);
    }
}

fields!(Paced { target: Log, probe: Probe, ignored: u8, new: bool, young: bool, reopened: bool });
