//! Intervals between calls, kept as their logarithms.

use super::octaves::{Fine, OCTAVE, Octaves, exp2, log2, log2_of_1_and, log2_roughly};
use crate::snapshot::{Field, Reader, Writer};
use crate::time::Span;

/// The time between two calls at some rate: log2 of it in 2^-8 ns.
///
/// The law is free of scale: it never adds to a rate, it multiplies. In logarithms that is a sum,
/// an interval of nine years takes four bytes as one of a nanosecond does, and nothing overflows.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) struct Interval(Fine);

/// The unit in which intervals are at least one: 2^-8 ns.
const UNIT: Fine = 8 * OCTAVE;

impl Interval {
    /// The shortest: a quarter of a nanosecond.
    pub(super) const MIN: Self = Self(6 * OCTAVE);
    /// The longest, nine years: nothing is multiplied past this.
    pub(super) const MAX: Self = Self(66 * OCTAVE);

    pub(super) const fn of_span(span: Span) -> Self {
        match span.as_nanos() {
            0 => Self::MIN,
            nanos => Self::of(log2(nanos).saturating_add(UNIT)),
        }
    }

    /// The interval of `calls` calls in `span`.
    pub(super) const fn of_calls(span: Span, calls: u32) -> Self {
        Self::of_span(span).shorter(log2(calls as u64))
    }

    /// Rounded down to the nanosecond.
    pub(super) const fn span(self) -> Span {
        Span::from_nanos(exp2(self.0.saturating_sub(UNIT)))
    }

    /// How often it fits into `span`.
    pub(super) fn count_in(self, span: Span) -> u32 {
        match span.as_nanos() {
            0 => 0,
            nanos => {
                let count = exp2(log2(nanos).saturating_add(UNIT).saturating_sub(self.0));
                u32::try_from(count).unwrap_or(u32::MAX)
            }
        }
    }

    /// log2 of how many times `other` it is.
    pub(super) const fn over(self, other: Self) -> Fine {
        self.0.saturating_sub(other.0)
    }

    /// Longer by so many octaves.
    #[cfg_attr(
        any(target_arch = "arm", target_arch = "riscv32", target_arch = "wasm32"),
        inline(never)
    )]
    pub(super) const fn longer(self, octaves: Fine) -> Self {
        Self::of(self.0.saturating_add(octaves))
    }

    /// Shorter by so many octaves.
    pub(super) const fn shorter(self, octaves: Fine) -> Self {
        self.longer(octaves.saturating_neg())
    }

    pub(super) const fn doubled(self, times: u32) -> Self {
        let times = if times < 64 { times } else { 64 };
        self.longer(OCTAVE.saturating_mul(times.cast_signed()))
    }

    /// The interval of a rate that is faster by `growth` / 2^24, for a growth of at most one.
    pub(super) fn faster(self, growth: u32) -> Self {
        let growth = Fine::try_from(growth).unwrap_or(OCTAVE).min(OCTAVE);
        self.shorter(log2_of_1_and(growth))
    }

    /// The interval of a rate that keeps all but `cut` / 2^16, for a cut of at most a half.
    pub(super) fn after_cut(self, cut: u32) -> Self {
        let keep = 65_536u32.saturating_sub(cut.min(32_768));
        self.longer(OCTAVE.saturating_mul(16).saturating_sub(log2(keep.into())))
    }

    /// log2 in octaves above 2^-8 ns.
    pub(super) const fn log2(self) -> Octaves {
        self.0 >> 16
    }

    /// About the [`log2`](Self::log2) of the interval that is this long: 6 % off at most.
    pub(super) const fn log2_roughly_of(span: Span) -> Octaves {
        log2_roughly(span.as_nanos()).saturating_add(UNIT >> 16)
    }

    /// The interval of a [`log2`](Self::log2), to its 8 bits.
    pub(super) fn of_log2(log: Octaves) -> Self {
        Self::of(log.saturating_mul(65_536))
    }

    const fn of(log: Fine) -> Self {
        if log < Self::MIN.0 {
            Self::MIN
        } else if log > Self::MAX.0 {
            Self::MAX
        } else {
            Self(log)
        }
    }
}

impl Field for Interval {
    const BYTES: usize = 4;

    fn write(&self, out: &mut Writer<'_>) {
        out.u32(self.0.cast_unsigned());
    }

    fn read(input: &mut Reader<'_>) -> Self {
        Self::of(input.u32().cast_signed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Whether two spans differ by no more than what logarithms lose, and a nanosecond.
    fn near(a: Span, b: u128) -> bool {
        let a = u128::from(a.as_nanos());
        a.abs_diff(b) <= 1 + b / 25_000
    }

    #[test]
    fn the_ends_hold_whatever_comes() {
        for ends in [Interval::MIN, Interval::MAX] {
            for moved in [
                ends.doubled(u32::MAX),
                ends.after_cut(u32::MAX),
                ends.faster(u32::MAX),
                ends.longer(Fine::MAX),
                ends.shorter(Fine::MAX),
                ends.longer(Fine::MIN),
            ] {
                assert!((Interval::MIN..=Interval::MAX).contains(&moved));
            }
        }
        assert_eq!(Interval::of_span(Span::MAX), Interval::MAX);
        assert_eq!(Interval::of_calls(Span::ZERO, u32::MAX), Interval::MIN);
        assert_eq!(Interval::MIN.count_in(Span::ZERO), 0);
    }

    proptest! {
        #[test]
        fn an_interval_is_the_time_that_it_was_made_of(
            nanos in 1u64..1 << 48, calls in 1u32..1 << 20, least in 1u64..1 << 48,
        ) {
            let span = Span::from_nanos(nanos);
            prop_assert!(near(Interval::of_span(span).span(), nanos.into()));
            prop_assert!(near(Interval::of_calls(span, calls).span(), u128::from(nanos) / u128::from(calls)));
            let count = Interval::of_span(Span::from_nanos(least)).count_in(span).into();
            let exact = (nanos / least).min(u32::MAX.into());
            prop_assert!(near(Span::from_nanos(count), exact.into()));
        }

        #[test]
        fn faster_and_cut_are_what_they_say(nanos in 1_000u64..1 << 47, growth in 0u32..=1 << 24, cut in 0u32..=32_768) {
            let interval = Interval::of_span(Span::from_nanos(nanos));
            let exact = (u128::from(nanos) << 24) / u128::from((1u32 << 24) + growth);
            prop_assert!(near(interval.faster(growth).span(), exact));
            let exact = (u128::from(nanos) << 16) / u128::from(65_536 - cut);
            prop_assert!(near(interval.after_cut(cut).span(), exact));
        }

        #[test]
        fn the_smallest_growth_is_none_that_is_lost(nanos in 1u64..1 << 47, growth in 64u32..1 << 12) {
            let interval = Interval::of_span(Span::from_nanos(nanos));
            prop_assert!(interval.faster(growth) < interval || interval == Interval::MIN);
        }
    }
}
