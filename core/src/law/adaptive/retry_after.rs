//! Retry-After: a blackout whose end is told.

use super::cost::PARTS;
use super::epoch::Habit;
use super::event::Event;
use super::interval::Interval;
use super::octaves::{Fine, OCTAVE, exp2, log2, log2_of};
use super::{AdaptiveState, Tier, longest_hold};
use crate::rng::Rng;
use crate::time::{Instant, Span};

/// A rate that was measured is kept to within a thirty-third: time runs out before the calls do.
const SPARE: Fine = log2_of(33, 32);

impl AdaptiveState {
    /// A long Retry-After is a blackout whose end is told.
    pub(super) fn blackout(&mut self, now: Instant, wait: Span, rng: &mut Rng) {
        let end = now.saturating_add(wait).min(longest_hold(now));
        if !self.is_open() {
            // The machine may have slept while the call was under way.
            self.leave_out_silence(now, self.interval(now));
        }
        let served = self.meter.served;
        let mut cycle = self.meter.cycle(end).max(Span::from_micros(1));
        if let Tier::Open(open) = self.tier {
            // Before the first congestion the cycle begins with whatever time there was no call in.
            let calls = log2(served.into()).saturating_sub(log2(PARTS.into()));
            let bright = open.interval(now, self.round_trip()).longer(calls).span();
            cycle = cycle.min(end.saturating_since(now).saturating_add(bright));
            self.epoch.restart(self.pacer.interval);
            self.tier = Tier::Blind(Habit::default());
        }
        let measured = match served {
            0 => Interval::of_span(cycle).doubled(1),
            parts => Interval::of_parts(cycle, parts),
        };
        let own = self.pacer.interval;
        self.pacer.interval = match (own > Interval::MIN, self.meter.set) {
            // Nothing was served, so nothing was measured: in an outage, or where others took all.
            (true, _) if served == 0 => own,
            (true, true) => mix_rates(own, measured, served).longer(SPARE),
            _ => measured.longer(SPARE),
        };
        self.pacer.target = self.pacer.interval;
        self.epoch.settle_at(self.pacer.interval);
        self.meter.restart(end, 0);
        self.event = Event { at: end, misses: 0, previous: 4, down: self.event.down };
        self.pacer.hold_until(end, self.pacer.interval.span().min(cycle), rng);
    }
}

/// The weighted mean of two rates, given as intervals: the measured one weighs a quarter to three
/// quarters, by how much was served: from four calls to twelve.
pub(super) fn mix_rates(own: Interval, measured: Interval, parts: u32) -> Interval {
    let weight = parts.clamp(64, 192);
    let own = own.max(measured.shorter(OCTAVE));
    // own * 256 / (256 - weight + weight * own / measured), with the quotient in 1/2^16.
    let quotient = exp2(own.over(measured).saturating_add(16 * OCTAVE)).min(1 << 24);
    let quotient = u32::try_from(quotient).unwrap_or(0);
    // At most 193 * 2^24.
    let divisor = (256u32.wrapping_sub(weight) << 16).wrapping_add(weight.wrapping_mul(quotient));
    own.longer((24 * OCTAVE).saturating_sub(log2(divisor.into())))
}
