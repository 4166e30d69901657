//! Paced: calls are sent an interval apart.

use core::num::NonZeroU8;

use super::log::Log;
use super::noise::Noise;
use super::probe::Probe;
use super::{AdaptiveState, Phase, Rate, Server};
use crate::gate::LONGEST_DEBT;
use crate::law::Sent;
use crate::rng::Rng;
use crate::snapshot::fields;
use crate::time::{Instant, LATENESS, Span};

/// A grid of intervals, each with a random draw, and the search for the rate.
///
/// The grid does not move with the draws, so a bucket of two calls absorbs them and a single client
/// loses nothing. Without draws, a client that is in phase with the server's refill would get every
/// token, and the others would find an empty bucket. The draws become smaller as the law becomes
/// sure of its rate.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) struct Paced {
    /// The interval to return to after a dark time or an outage: that of the last good rate.
    pub(super) target: Log,
    pub(super) probe: Probe,
    pub(super) noise: Noise,
    /// Rejections since the cut that did not cut: those that were regarded as chance, and, if an
    /// epoch is longer because of the calls in flight, those of calls from before the cut.
    pub(super) rejected: u8,
    pub(super) rate: Rate,
    /// One more than the responses in a row that said that almost nothing of the pool is used; `None` if one of them was
    /// to a hit.
    pub(super) unused: Option<NonZeroU8>,
    /// Whether more was served than the hinted quota allows.
    pub(super) refuted: bool,
}

/// While other calls are served, retries wait up to 2^4 intervals after another one has missed.
pub(super) const MOST_DOUBLINGS: u8 = 4;

impl Paced {
    pub(super) fn new(interval: Log) -> Self {
        Self {
            target: interval,
            probe: Probe::new(),
            noise: Noise::default(),
            rejected: 0,
            rate: Rate::Searched,
            unused: Some(NonZeroU8::MIN),
            refuted: false,
        }
    }

    /// The limit on calls in flight during the search: one, and one more for each success since the cut. More
    /// would be rejected together, because the search starts above the limit.
    pub(super) fn wide(&self) -> Option<u16> {
        (self.rate == Rate::Searched).then_some(self.probe.successes.saturating_add(1))
    }

    /// All calls from before the cut were answered. Returns what the interval grows by, if so many
    /// were rejected that the cut was too shallow.
    pub(super) fn deepen_cut(&mut self) -> Option<Log> {
        /// Fewer rejections may be chance.
        const ENOUGH: u8 = 16;
        if self.rejected < ENOUGH {
            return None;
        }
        Some(self.probe.deepen(core::mem::take(&mut self.rejected)))
            .filter(|more| *more > Log::ZERO)
    }
}

impl AdaptiveState {
    /// A call is sent: the next one is due an interval later. At most one interval is made up, or
    /// as many as a late timer has missed.
    pub(super) fn advance(&mut self, sent: &Sent, rng: &mut Rng) {
        let &Sent { now, cost, cooldown_end, .. } = sent;
        let interval = self.usual.interval_of(cost, self.interval(now));
        let Phase::Paced(paced) = &self.phase else { return };
        let width = (interval + Log::of_coarse(paced.probe.depth())).octaves(-2).span();
        let latest = now + self.longest_wait(interval);
        let interval = interval.span();
        let start = self.interval_end.max(now - interval.max(LATENESS)).max(cooldown_end);
        self.interval_end = start + interval;
        let half = width.halved(1);
        let drawn = self.interval_end - half + rng.between(Span::ZERO, width);
        self.fresh_at = drawn.min(latest);
        self.release = if self.own > 0 { self.release.max(self.fresh_at) } else { self.fresh_at };
    }

    /// No wait is longer than the ceiling, unless the learned interval is.
    fn longest_wait(&self, interval: Log) -> Span {
        let ceiling = self.ceiling();
        if interval > ceiling { interval.octaves(1).span() } else { ceiling.span() }
    }

    /// Restarts the grid: no call before `at`.
    pub(super) fn begin_at(&mut self, at: Instant) {
        (self.release, self.fresh_at, self.interval_end) = (at, at, at);
    }

    /// After a rejection, the next call is sent between a half and three halves of an interval from
    /// now, or later. A cooldown is not made up. A miss of a retry delays other retries more than calls
    /// that have not been tried.
    pub(super) fn back_off(&mut self, now: Instant, cooldown: Span, attempt: u16, rng: &mut Rng) {
        if attempt > 0 {
            self.delay_retries(now, cooldown, attempt, rng);
        }
        if !self.is_open() || self.run.server == Server::Outage {
            let interval = self.interval(now).span();
            let next = self.about(interval, now, cooldown, rng);
            self.fresh_at = self.fresh_at.max(next);
            self.release = self.release.max(self.fresh_at);
            if !self.is_open() {
                let end = now + interval.max(cooldown);
                self.interval_end = self.interval_end.max(end);
            }
        }
    }

    /// The next retry is sent later than other calls: its interval doubles with each retry that misses.
    /// Before there is a rate, retries that are rejected together count once: the interval doubles no
    /// more often than the call was tried.
    pub(super) fn delay_retries(
        &mut self,
        now: Instant,
        cooldown: Span,
        attempt: u16,
        rng: &mut Rng,
    ) {
        let counts_once = self.is_open() && !self.run.fails();
        let most = if counts_once { u8::try_from(attempt).unwrap_or(u8::MAX) } else { u8::MAX };
        let doublings = self.doublings(self.run.misses).max(self.own).min(most);
        let interval = self.doubled(doublings, now).max(self.quota()).span();
        self.release = self.release.max(self.about(interval, now, cooldown, rng));
    }

    /// About an interval from now, and after the cooldown.
    fn about(&self, interval: Span, now: Instant, cooldown: Span, rng: &mut Rng) -> Instant {
        let next = rng.within(interval, interval.halved(1)).max(cooldown);
        (now + next).min(now + self.longest_wait(self.interval))
    }

    /// After a recovery, the next call is sent within the interval of the probes from now, or sooner.
    pub(super) fn hasten(&mut self, now: Instant, misses: u8, rng: &mut Rng) {
        let interval = self.doubled(self.doublings(misses), now).max(self.quota()).span();
        let next = now + rng.between(Span::ZERO, interval);
        self.release = self.release.min(next);
        self.fresh_at = self.fresh_at.min(next);
        self.interval_end = self.interval_end.min(next);
    }

    /// A call cost more or less than it was charged: the next one is due later or sooner.
    pub(super) fn shift(&mut self, now: Instant, by: Span, later: bool) {
        let latest = now + LONGEST_DEBT;
        for at in [&mut self.release, &mut self.fresh_at, &mut self.interval_end] {
            *at = match later {
                true => (*at + by).min(latest).max(*at),
                false => (*at).min((*at - by).max(now)),
            };
        }
    }
}

fields!(Paced {
    target: Log,
    probe: Probe,
    noise: Noise,
    rejected: u8,
    rate: Rate,
    unused: Option<NonZeroU8>,
    refuted: bool
});
