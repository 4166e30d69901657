//! Intervals between calls, and their logarithms.

use crate::fixed::Ratio;
use crate::snapshot::{Field, Reader, Writer};
use crate::time::Span;

/// The time between two calls at some rate, in nanoseconds with 8 bits of fraction: a quarter of a
/// nanosecond still has its digits, and the longest is nine years.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Interval(u64);

/// log2 of an interval, and what is counted in octaves, with 8 bits of fraction. The mantissa is
/// taken for its own logarithm (at most 0.086 off), so [`Interval::log2`] is a shift and
/// [`exp2_q8`] its exact inverse.
pub(super) type Octaves = i32;

const FRACTION: u32 = 8;

impl Interval {
    /// The shortest: a quarter of a nanosecond.
    pub(super) const MIN: Self = Self(1 << 6);
    /// The longest: nothing is multiplied past this.
    pub(super) const MAX: Self = Self(1 << 56);

    pub(super) const fn of_span(span: Span) -> Self {
        let nanos = span.as_nanos();
        let most = Self::MAX.0 >> FRACTION;
        let nanos = if nanos < most { nanos } else { most };
        Self(nanos << FRACTION)
    }

    /// The interval of `calls` calls in `span`: exact but for the last bit.
    pub(super) fn of_calls(span: Span, calls: u32) -> Self {
        let whole = Self::of_span(span).0;
        Self(whole.checked_div(u64::from(calls)).unwrap_or(whole)).within()
    }

    /// Rounded down to the nanosecond.
    pub(super) const fn span(self) -> Span {
        Span::from_nanos(self.0 >> FRACTION)
    }

    pub(super) const fn bits(self) -> u64 {
        self.0
    }

    /// The interval of [`bits`](Self::bits).
    pub(super) fn of_bits(bits: u64) -> Self {
        Self(bits).within()
    }

    pub(super) fn times(self, ratio: Ratio) -> Self {
        Self(ratio.floor_of(self.0)).within()
    }

    pub(super) fn doubled(self, times: u32) -> Self {
        // Past 2^64 it is past the longest in any case.
        let doubled = self.0.checked_mul(1u64.checked_shl(times).unwrap_or(u64::MAX));
        Self(doubled.unwrap_or(u64::MAX)).within()
    }

    /// The interval of a rate that is faster by `growth` / 2^24, for a growth of at most one.
    pub(super) fn faster(self, growth: u64) -> Self {
        const ONE: u64 = 1 << 24;
        let growth = growth.min(ONE);
        // I / (1 + g) = I - I * g / (1 + g)
        let part = (growth << 24).checked_div(ONE.saturating_add(growth)).unwrap_or(0);
        let less = (self.0 >> 24)
            .saturating_mul(part)
            .saturating_add((self.0 & (ONE - 1)).saturating_mul(part) >> 24);
        Self(self.0.saturating_sub(less)).within()
    }

    /// The interval of a rate that keeps all but `cut` / 2^16, for a cut of at most a half.
    pub(super) fn after_cut(self, cut: u32) -> Self {
        let keep = 65_536u32.saturating_sub(cut.min(32_768));
        self.times(Ratio::new(65_536, keep).unwrap_or(Ratio::ONE))
    }

    /// log2 in octaves above the interval of 2^-8 ns.
    pub(super) fn log2(self) -> Octaves {
        log2_q8(self.0)
    }

    /// The interval of a [`log2`](Self::log2), to its 8 bits.
    pub(super) fn of_log2(log: Octaves) -> Self {
        let mantissa = u64::try_from(log & 255).unwrap_or(0).saturating_add(256);
        let octave = (log >> 8).clamp(0, 56).unsigned_abs();
        Self::of_bits((mantissa << octave) >> 8)
    }

    fn within(self) -> Self {
        self.max(Self::MIN).min(Self::MAX)
    }
}

/// log2 of a number, with 8 bits of fraction; of zero as of one.
pub(super) fn log2_q8(number: u64) -> Octaves {
    let number = number.max(1);
    let octave = number.ilog2();
    let mantissa = if octave >= 8 {
        number.checked_shr(octave.saturating_sub(8)).unwrap_or(0)
    } else {
        number.checked_shl(8u32.saturating_sub(octave)).unwrap_or(0)
    };
    // 256 to 511: the leading one is the octave.
    let fraction = i32::try_from(mantissa & 255).unwrap_or(0);
    i32::try_from(octave).unwrap_or(0).saturating_mul(256).saturating_add(fraction)
}

/// Octaves in the two bytes that a state has for them: 128 of them are more than there are.
pub(super) fn clip(octaves: Octaves) -> i16 {
    i16::try_from(octaves).unwrap_or(i16::MAX)
}

/// 2^`octaves`, with 8 bits of fraction: the inverse of [`log2_q8`], at most 2^54.
pub(super) fn exp2_q8(octaves: Octaves) -> u64 {
    let mantissa = u64::try_from(octaves & 255).unwrap_or(0).saturating_add(256);
    let octave = octaves >> 8;
    let by = octave.unsigned_abs().min(46);
    if octave >= 0 { mantissa << by } else { mantissa >> by }
}

impl Field for Interval {
    const BYTES: usize = 8;

    fn write(&self, out: &mut Writer<'_>) {
        out.u64(self.0);
    }

    fn read(input: &mut Reader<'_>) -> Option<Self> {
        input.u64().map(Self::of_bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_logarithm_rises_with_its_number_and_its_inverse_undoes_it(number in 1u64..1 << 46) {
            let octaves = log2_q8(number);
            prop_assert!(log2_q8(number + 1) >= octaves);
            // exp2 has 8 bits of fraction, log2 takes a plain number.
            let back = exp2_q8(octaves) >> 8;
            prop_assert!(back <= number && number - back <= number / 256 + 1);
        }

        #[test]
        fn an_interval_is_its_logarithm_to_eight_bits(bits in 1u64 << 6..1 << 56) {
            let back = Interval::of_log2(Interval(bits).log2()).bits();
            prop_assert!(back <= bits && bits - back <= bits / 256 + 1);
        }

        #[test]
        fn faster_and_cut_are_what_they_say(nanos in 1_000u64..1 << 47, growth in 0u64..=1 << 24, cut in 0u32..=32_768) {
            let interval = Interval::of_span(Span::from_nanos(nanos));
            let exact = (u128::from(interval.0) << 24) / u128::from((1 << 24) + growth);
            let off = u128::from(interval.faster(growth).0).abs_diff(exact);
            prop_assert!(off <= 2 + exact / (1 << 20), "{}", off);
            let exact = (u128::from(interval.0) << 16) / u128::from(65_536 - cut);
            prop_assert_eq!(u128::from(interval.after_cut(cut).0), exact.min(u128::from(Interval::MAX.0)));
        }
    }
}
