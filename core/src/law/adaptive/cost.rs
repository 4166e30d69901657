//! Cost: what a call takes of the limit, in calls of the usual size.

use core::cmp::Ordering;

use super::interval::Interval;
use super::octaves::OCTAVE;
use crate::fixed::Ratio;
use crate::snapshot::{Field, Reader, Writer};
use crate::time::Span;

/// The size of a usual call.
///
/// The law counts in calls: epochs, probes, the weight of a success. Where a call costs a thousand
/// tokens, a token is no call, and a law that took it for one would think itself a thousand times
/// as well informed as it is. So it measures in usual calls, and a call that costs twice the usual
/// takes two intervals. The usual is a power of two, so that a change of it moves every number of
/// the law by whole octaves and loses nothing; where every call costs one, it is one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) struct Usual {
    /// The mean cost of about sixteen calls, with 4 bits of fraction; zero before the first.
    mean: u32,
    /// log2 of what a usual call costs.
    octave: u8,
}

/// So many make a call, where calls are counted by what they cost.
pub(super) const PARTS: u32 = 16;
const PARTS_LOG2: u32 = PARTS.ilog2();

impl Usual {
    pub(super) const fn new() -> Self {
        Self { mean: 0, octave: 0 }
    }

    /// Learns from a call that leaves. The answer is by how many octaves the usual call has become
    /// larger: none, as long as the mean stays between three quarters of it and three times as much.
    pub(super) fn see(&mut self, cost: u32) -> i32 {
        let latest = cost.min(u32::MAX >> PARTS_LOG2) << PARTS_LOG2;
        self.mean = match (self.mean, latest.cmp(&self.mean)) {
            (_, Ordering::Equal) => return 0,
            (0, _) => latest,
            (mean, Ordering::Greater) => mean.saturating_add(latest.abs_diff(mean) / 16),
            (mean, Ordering::Less) => mean.saturating_sub(latest.abs_diff(mean) / 16),
        };
        let usual = PARTS.checked_shl(self.octave.into()).unwrap_or(u32::MAX);
        if self.mean < usual.saturating_mul(3) && self.mean >= (usual / 4).saturating_mul(3) {
            return 0;
        }
        let before = self.octave;
        let octave = self.mean.max(PARTS).ilog2().saturating_sub(PARTS_LOG2);
        self.octave = u8::try_from(octave).unwrap_or(0);
        i32::from(self.octave).saturating_sub(before.into())
    }

    /// Below 28; the mask lets the compiler know that a shift by it is in range.
    fn octave(self) -> u32 {
        u32::from(self.octave) & 31
    }

    /// What `cost` takes where a usual call takes `interval`.
    pub(super) fn interval_of(self, cost: u32, interval: Span) -> Span {
        if cost == 1 && self.octave == 0 {
            return interval;
        }
        let calls = Ratio::new(cost, 1 << self.octave()).unwrap_or(Ratio::ONE);
        Span::from_nanos(calls.floor_of(interval.as_nanos()))
    }

    /// How many usual calls a cost is worth, in sixteenths.
    pub(super) fn parts_of(self, cost: u32) -> u32 {
        if cost == 1 && self.octave == 0 {
            return PARTS;
        }
        let parts = (u64::from(cost) << PARTS_LOG2) >> self.octave();
        u32::try_from(parts).unwrap_or(u32::MAX).max(1)
    }

    /// How many usual calls so much of a limit is worth, rounded down.
    #[cfg_attr(
        any(target_arch = "arm", target_arch = "riscv32", target_arch = "wasm32"),
        inline(never)
    )]
    pub(super) fn calls_in(self, amount: u64) -> u32 {
        u32::try_from(amount >> self.octave()).unwrap_or(u32::MAX)
    }
}

impl Interval {
    /// The interval of so many sixteenths of a call in `span`.
    pub(super) fn of_parts(span: Span, parts: u32) -> Self {
        Self::of_calls(span, parts).doubled(PARTS_LOG2)
    }

    /// The interval of a usual call that has become `octaves` larger.
    pub(super) fn rescaled(self, octaves: i32) -> Self {
        self.longer(OCTAVE.saturating_mul(octaves))
    }
}

/// A count of calls, or of their parts, when the usual call has become `octaves` larger.
pub(super) fn rescaled(count: u32, octaves: i32) -> u32 {
    let by = octaves.unsigned_abs();
    match octaves {
        ..0 => u32::try_from(u64::from(count) << by.min(32)).unwrap_or(u32::MAX),
        _ => count.checked_shr(by).unwrap_or(0),
    }
}

impl Field for Usual {
    const BYTES: usize = 5;

    fn write(&self, out: &mut Writer<'_>) {
        out.u32(self.mean);
        out.u8(self.octave);
    }

    fn read(input: &mut Reader<'_>) -> Self {
        let usual = Self { mean: input.u32(), octave: input.u8() };
        // No mean is in a higher octave.
        if usual.octave >= 28 {
            input.refuse();
        }
        usual
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn where_every_call_costs_one_a_usual_call_is_one() {
        let mut usual = Usual::new();
        for _ in 0..100 {
            assert_eq!(usual.see(1), 0);
        }
        let second = Span::from_secs(1);
        assert_eq!((usual.interval_of(1, second), usual.parts_of(1)), (second, PARTS));
        assert_eq!(usual.interval_of(3, second), Span::from_secs(3));
        assert_eq!(usual.calls_in(u64::MAX), u32::MAX);
    }

    #[test]
    fn the_usual_call_is_the_first_one_and_follows_the_mean_by_octaves() {
        let mut usual = Usual::new();
        assert_eq!(usual.see(1_000), 9); // 512 to 1023
        let moved: i32 = (0..100).map(|_| usual.see(5)).sum();
        assert_eq!(moved, -6); // 8: the mean came from above, and is within three quarters of it
        let moved: i32 = (0..100).map(|_| usual.see(if moved < 0 { 4_000_000 } else { 1 })).sum();
        assert!((18..=19).contains(&moved), "{moved}");
    }

    proptest! {
        #[test]
        fn what_a_call_takes_is_its_cost_in_usual_calls(
            first in 1u32.., costs in prop::collection::vec(1u32.., 0..40), cost in 1u32..,
            nanos in 0u64..1 << 50,
        ) {
            let mut usual = Usual::new();
            usual.see(first);
            for cost in costs {
                usual.see(cost);
                prop_assert!(usual.octave <= 28);
            }
            let exact = (u128::from(nanos) * u128::from(cost)) >> usual.octave;
            let got = u128::from(usual.interval_of(cost, Span::from_nanos(nanos)).as_nanos());
            prop_assert!(got == exact.min(u128::from(u64::MAX)), "{} {}", got, exact);
        }

        #[test]
        fn a_rescaled_interval_costs_a_call_the_same(nanos in 1u64 << 30..1 << 36, octaves in -12i32..=12) {
            let interval = Interval::of_span(Span::from_nanos(nanos));
            let there = interval.rescaled(octaves);
            prop_assert_eq!(there.rescaled(-octaves), interval);
        }
    }
}
