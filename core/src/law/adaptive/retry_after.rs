//! Retry-After: a blackout whose end is told.

use super::epoch::Habit;
use super::event::Event;
use super::interval::Interval;
use super::octaves::{OCTAVE, exp2, log2};
use super::{AdaptiveState, Tier, longest_hold};
use crate::fixed::Ratio;
use crate::rng::Rng;
use crate::time::{Instant, Span};

impl AdaptiveState {
    /// A long Retry-After is a blackout whose end is told.
    pub(super) fn blackout(&mut self, now: Instant, wait: Span, rng: &mut Rng) {
        let end = now.saturating_add(wait).min(longest_hold(now));
        if let Tier::Open(_) = self.tier {
            self.epoch.restart(self.pacer.interval);
            self.tier = Tier::Blind(Habit::default());
        }
        let cycle = self.meter.cycle(end).max(Span::from_micros(1));
        let measured = match self.meter.served {
            0 => Interval::of_span(cycle).doubled(1),
            parts => Interval::of_parts(cycle, parts),
        };
        let mixed = if self.meter.set && self.pacer.interval > Interval::MIN {
            mix_rates(self.pacer.interval, measured, self.meter.served)
        } else {
            measured
        };
        self.pacer.interval = mixed.times(Ratio::of(33, 32));
        self.pacer.target = self.pacer.interval;
        self.epoch.settle_at(self.pacer.interval);
        self.meter.restart(end, 0);
        self.event = Event { at: end, misses: 0, previous: 4, down: self.event.down };
        self.pacer.hold_until(end, self.pacer.interval.span().min(cycle), rng);
    }
}

/// The weighted mean of two rates, given as intervals: the measured one weighs a quarter to three
/// quarters, by how much was served: from four calls to twelve.
fn mix_rates(own: Interval, measured: Interval, parts: u32) -> Interval {
    let weight = u64::from(parts.clamp(64, 192));
    let own = own.max(measured.times(Ratio::HALF));
    // own * 256 / (256 - weight + weight * own / measured), with the quotient in 1/2^16.
    let quotient = exp2(own.over(measured).saturating_add(16 * OCTAVE)).min(1 << 24);
    let divisor =
        (256u64.saturating_sub(weight) << 16).saturating_add(weight.saturating_mul(quotient));
    own.longer(OCTAVE.saturating_mul(24).saturating_sub(log2(divisor)))
}
