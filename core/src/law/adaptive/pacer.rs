//! When the next call leaves: a grid of slots, each with its draw.

use super::LONGEST_HOLD;
use super::interval::Interval;
use crate::rng::Rng;
use crate::snapshot::fields;
use crate::time::{Instant, Span};
use crate::verdict::{Reason, Verdict};

/// Releases calls one by one, an interval apart.
///
/// Blind, every call is drawn from its own slot, ±half a slot about a grid that does not move: a
/// bucket of two absorbs the draw, so a lone client loses nothing, and calls of several clients meet
/// the server in random order. (Without the draw, whoever is in phase with the server's refill takes
/// every token, and the others meet an empty bucket: the phase effect.) With hints there is no
/// contest for tokens, and an eighth of the interval is enough.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) struct Pacer {
    pub(super) interval: Interval,
    /// The interval to return to after an outage or a blackout: that of the last good rate.
    pub(super) target: Interval,
    /// The grid: when the present slot is over.
    slot: Instant,
    /// No call before this: the draw of the present slot.
    release: Instant,
    /// No call before this either: the server's own wish.
    hold: Instant,
}

/// How late a timer may be without a call being lost for it. Most count milliseconds, and begin with the
/// next one (tokio's, Node's): a client with a thousand calls a second would otherwise be as slow as they
/// are.
const LATENESS: Span = Span::from_millis(2);

impl Pacer {
    pub(super) const fn new() -> Self {
        Self {
            interval: Interval::MIN,
            target: Interval::MIN,
            slot: Instant::ZERO,
            release: Instant::ZERO,
            hold: Instant::ZERO,
        }
    }

    /// Whether the server's wish alone lets a call leave.
    pub(super) fn check_hold(&self, now: Instant) -> Verdict {
        wait_until(self.hold, now)
    }

    pub(super) fn check(&self, now: Instant) -> Verdict {
        wait_until(self.hold.max(self.release), now)
    }

    /// How long nothing has left since the present slot was over.
    pub(super) fn silence(&self, now: Instant) -> Span {
        now.saturating_since(self.slot)
    }

    /// A call has left: the next one is due an interval later. At most one interval is caught up, or
    /// as many as a late timer has missed.
    pub(super) fn advance(&mut self, now: Instant, interval: Span, slots: bool, rng: &mut Rng) {
        let start = self.slot.max(now.saturating_sub(interval.max(LATENESS)));
        if slots {
            self.slot = start.saturating_add(interval);
            let draw = rng.between(Span::ZERO, interval);
            self.release = self.slot.saturating_sub(interval.halved(1)).saturating_add(draw);
        } else {
            let step = rng.within(interval, interval.halved(3));
            self.slot = start.saturating_add(step);
            self.release = self.slot;
        }
    }

    /// Begins the grid anew.
    pub(super) fn begin(&mut self, at: Instant) {
        self.slot = at;
        self.release = at;
    }

    /// After a refusal: the next call leaves between a half and three halves of an interval from now,
    /// or later.
    pub(super) fn back_off(&mut self, now: Instant, interval: Span, rng: &mut Rng) {
        let half = interval.halved(1);
        let next = rng.between(half, interval.saturating_add(half));
        self.slot = self.slot.max(now.saturating_add(interval));
        self.release = self.release.max(now.saturating_add(next));
    }

    /// After a recovery: the next call leaves within an interval from now, or sooner.
    pub(super) fn hasten(&mut self, now: Instant, rng: &mut Rng) {
        let next = now.saturating_add(rng.between(Span::ZERO, self.interval.span()));
        self.slot = self.slot.min(next);
        self.release = self.release.min(next);
    }

    /// The next call leaves after `draw`, where it was due later than that or is overdue.
    pub(super) fn due_after(&mut self, now: Instant, draw: Span) {
        let due = now.saturating_add(draw);
        if self.slot > due || self.slot < now {
            self.begin(due);
        }
    }

    /// The next call leaves later by `debt`.
    pub(super) fn postpone(&mut self, debt: Span) {
        self.slot = self.slot.saturating_add(debt);
        self.release = self.release.saturating_add(debt);
    }

    /// The next call leaves sooner by `refund`, but not sooner than now.
    pub(super) fn advance_by(&mut self, now: Instant, refund: Span) {
        let sooner = |instant: Instant| instant.min(instant.saturating_sub(refund).max(now));
        self.slot = sooner(self.slot);
        self.release = sooner(self.release);
    }

    /// Nothing leaves until some time within `spread` after `end`, and within an hour of it.
    pub(super) fn hold_until(&mut self, end: Instant, spread: Span, rng: &mut Rng) {
        let spread = rng.between(Span::ZERO, spread.min(LONGEST_HOLD));
        self.hold = self.hold.max(end.saturating_add(spread));
        self.begin(self.hold);
    }
}

fn wait_until(instant: Instant, now: Instant) -> Verdict {
    match instant {
        Instant::MAX if now < instant => Verdict::Refuse(Reason::Never),
        until if until > now => Verdict::Wait(until),
        _ => Verdict::Go,
    }
}

fields!(Pacer {
    interval: Interval,
    target: Interval,
    slot: Instant,
    release: Instant,
    hold: Instant
});
