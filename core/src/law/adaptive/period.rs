//! Remaining and reset: a fixed period whose end and whose rest the server tells.

use core::num::NonZeroU64;

use super::cost::{self, PARTS};
use super::epoch::{self, Habit};
use super::interval::Interval;
use super::octaves::{OCTAVE, log2};
use super::{AdaptiveState, Call, LONGEST_TOLD, Tier, longest_hold};
use crate::fixed::div_rem;
use crate::law::Move;
use crate::outcome::Outcome;
use crate::rng::Rng;
use crate::snapshot::{Field, Reader, Writer, fields};
use crate::time::{Instant, Span};

/// Spreads this client's share of what is left over what is left of the period.
///
/// Nothing is probed: the share is what this client had of the last period, averaged with what it
/// had before, and the first guess is what it has had since it came, as if a few others had been
/// heard of already.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) struct Share {
    end: Instant,
    /// What was served in this period, in sixteenths of a usual call: this client's, and everybody's.
    own: u32,
    used: u32,
    known: Known,
    /// The longest reset that was told in this period, in 2^20 ns, which is about the period itself:
    /// for where the server does not tell that.
    longest: u32,
    /// What the server says fits into it, by which it is told from the server's other limits; zero
    /// before the first.
    limit: u32,
}

/// What is known of this client's share.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
enum Known {
    /// Nothing was heard yet.
    Nothing,
    /// What everybody had used when the client came, which may have been long after the period
    /// began, and was then not the others' alone.
    Before(u32),
    /// The share in 1/2^16, by the periods that have been seen whole.
    Share(u16),
}

/// So many calls of others a newcomer takes as heard of, or the first to come would take all.
const OTHERS: u32 = 3 * PARTS;

/// A period as the server describes it in one answer.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) struct Told {
    /// In the server's own units, which stay the same where those of the law change.
    pub(super) name: u32,
    pub(super) limit: u32,
    pub(super) period: Option<Span>,
    pub(super) remaining: u32,
    pub(super) reset: Span,
    /// For a refused call: when the next one may leave, where the server says so.
    pub(super) retry_after: Option<Span>,
}

/// What to do next.
pub(super) enum Next {
    /// Calls leave this far apart, the next one after the draw.
    Pace(Interval, Span),
    /// Nothing is left for this client: it begins at this interval within one of it after the end.
    Pause(Interval, Instant),
    /// As before.
    Keep,
}

/// The least time that is taken to be left, so that the rest of a period is no burst.
const LEAST_LEFT: Span = Span::from_millis(50);
/// A period that ends later than this is believed as long as it is told again.
const BELIEVED: Span = Span::from_secs(86_400);

impl Share {
    pub(super) const fn new() -> Self {
        Self { end: Instant::ZERO, own: 0, used: 0, known: Known::Nothing, longest: 0, limit: 0 }
    }

    pub(super) fn hear(
        &mut self,
        now: Instant,
        then: Instant,
        told: Told,
        served: u32,
        rng: &mut Rng,
    ) -> Next {
        // A server with several limits may tell now of one and now of another. Each is a period of its
        // own, so they are followed one at a time, unless another has no call left.
        let another = told.name != self.limit;
        if another && self.limit != 0 && then < self.end && served > 0 && told.remaining > 0 {
            self.own = self.own.saturating_add(served);
            return Next::Keep;
        }
        self.limit = told.name;
        let period = told.period.unwrap_or_else(|| self.longest(told.reset));
        let reset = told.reset.min(period);
        let end = then.saturating_add(reset);
        // Further off than half a period is another period, or a server that has corrected itself.
        let moved = end.saturating_since(self.end).max(self.end.saturating_since(end));
        // Old news may tell of a period that is over, after newer ones of the next.
        let over = then < now && !another && self.end.saturating_since(end) > period.halved(1);
        if over {
            return Next::Keep;
        }
        if self.end == Instant::ZERO || moved > period.halved(1) || another {
            self.next_period(end);
        }
        self.own = self.own.saturating_add(served);
        self.used = told.limit.saturating_sub(told.remaining).saturating_mul(PARTS);

        if self.known == Known::Nothing {
            self.known = Known::Before(self.used.saturating_sub(self.own));
        }
        let share = match self.known {
            Known::Share(share) => share.max(1),
            _ => self.latest(OTHERS).max(64),
        };
        // From everybody's interval to one client's.
        let longer = (16 * OCTAVE).saturating_sub(log2(share.into()));
        let fair = Interval::of_calls(period, told.limit).longer(longer).min(LONGEST_TOLD);
        let mine = told.remaining.saturating_mul(share.into());
        let lot = rng.next_u32() >> 16;
        if let Some(wait) = told.retry_after {
            return Next::Pause(fair, then.saturating_add(wait));
        }
        if served == 0 || mine == 0 || lot > mine {
            return Next::Pause(fair, self.end);
        }
        let left = self.end.saturating_since(then).max(LEAST_LEFT);
        let even = Interval::of_calls(left, told.remaining).longer(longer);
        let interval = even.max(fair.shorter(OCTAVE)).min(LONGEST_TOLD);
        let draw = rng.within(interval.span(), interval.span().halved(2));
        if now.saturating_add(draw) >= self.end {
            return Next::Pause(fair, self.end);
        }
        Next::Pace(interval, draw)
    }

    pub(super) fn rescale(&mut self, octaves: i32) {
        self.own = cost::rescaled(self.own, octaves);
        self.used = cost::rescaled(self.used, octaves);
        if let Known::Before(before) = &mut self.known {
            *before = cost::rescaled(*before, octaves);
        }
    }

    /// The period, as far as the resets tell; never so short that an empty one is no pause.
    fn longest(&mut self, reset: Span) -> Span {
        let reset = u32::try_from(reset.as_nanos() >> 20).unwrap_or(u32::MAX);
        self.longest = self.longest.max(reset);
        Span::from_nanos(u64::from(self.longest) << 20).max(LEAST_LEFT)
    }

    /// What the client has had of what was used since it came, and of `others`.
    fn latest(&self, others: u32) -> u16 {
        let before = if let Known::Before(before) = self.known { before } else { 0 };
        portion(self.own, self.used.saturating_sub(before).saturating_add(others))
    }

    fn next_period(&mut self, end: Instant) {
        if self.own > 0 {
            let latest = self.latest(0);
            self.known = Known::Share(match self.known {
                Known::Share(share) => share.midpoint(latest),
                _ => latest,
            });
        } else if let Known::Before(before) = &mut self.known {
            *before = 0;
        }
        *self = Self { end, own: 0, used: 0, longest: self.longest / 2, ..*self };
    }
}

impl AdaptiveState {
    /// The server told `then` what is left of a period, and for how long.
    pub(super) fn period(&mut self, call: &Call, told: Told, then: Instant, rng: &mut Rng) -> Move {
        let now = call.now;
        let served = call.outcome == Outcome::Ok;
        let parts = if served { self.usual.parts_of(call.cost) } else { 0 };
        if !matches!(self.tier, Tier::Period(_)) {
            self.tier = Tier::Period(Share::new());
        }
        let next = match &mut self.tier {
            Tier::Period(share) => share.hear(now, then, told, parts, rng),
            _ => Next::Keep,
        };
        self.event.end();
        let before = self.pacer.interval;
        match next {
            Next::Pace(interval, draw) => {
                self.pacer.interval = interval;
                self.pacer.due_after(now, draw);
            }
            Next::Pause(interval, end) => {
                // Old news may tell of an end that is over.
                let end = if then < now { end.max(now) } else { end };
                self.pacer.interval = interval;
                self.pacer.hold_until(end.min(longest_hold(now)), interval.span(), rng);
            }
            Next::Keep => {}
        }
        if !served && call.fresh {
            Move::Slower
        } else if self.pacer.interval < before {
            Move::Faster
        } else {
            Move::Held
        }
    }

    /// An answer to a call of that time told of no period. Where the latest one was over by then, or is
    /// to last for longer than is believed, the server has stopped telling, and what it told must not
    /// bind for good: from there the law goes on blind, no slower than everybody's interval.
    pub(super) fn untold(&mut self, sent: Instant, now: Instant, rng: &mut Rng) {
        let Tier::Period(mut share) = self.tier else { return };
        if sent <= share.end && share.end <= now.saturating_add(BELIEVED) {
            return;
        }
        let everybody = match self.quota {
            0 => {
                let limit = self.usual.calls_in(share.limit.into()).max(1);
                Interval::of_calls(share.longest(Span::ZERO), limit)
            }
            anchor => epoch::interval_of_quota(anchor),
        };
        self.pacer.interval = self.pacer.interval.min(everybody);
        self.quota = 0;
        self.pacer.target = self.pacer.interval;
        self.epoch.restart(self.pacer.interval);
        self.tier = Tier::Blind(Habit::default());
        self.pacer.hasten(now, rng);
    }
}

/// What one client has of all that was used, in 1/2^16.
fn portion(own: u32, used: u32) -> u16 {
    let all = u64::from(used.max(own).max(1));
    let portion = NonZeroU64::new(all).map_or(0, |all| div_rem(u64::from(own) << 16, all).0);
    u16::try_from(portion).unwrap_or(u16::MAX)
}

fields!(Share { end: Instant, own: u32, used: u32, known: Known, longest: u32, limit: u32 });

impl Field for Known {
    const BYTES: usize = 5;

    fn write(&self, out: &mut Writer<'_>) {
        match self {
            Self::Nothing => out.variant(Self::BYTES, 0, |_| {}),
            Self::Before(before) => out.variant(Self::BYTES, 1, |out| out.u32(*before)),
            Self::Share(share) => out.variant(Self::BYTES, 2, |out| out.u16(*share)),
        }
    }

    fn read(input: &mut Reader<'_>) -> Self {
        let known = input.variant(Self::BYTES, |tag, input| match tag {
            1 => Some(Self::Before(input.u32())),
            2 => Some(Self::Share(input.u16())),
            _ => (tag == 0).then_some(Self::Nothing),
        });
        known.unwrap_or(Self::Nothing)
    }
}
