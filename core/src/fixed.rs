//! Integer mathematics with named rounding: waits round up, credits round down.

use core::num::{NonZeroU32, NonZeroU64};

/// A non-negative fraction, kept as the numerator and denominator that were written down.
///
/// `Ratio` exists so that "0.9" is nine tenths and not the nearest binary number: the delay after
/// a thousand steps is the same on every machine.
///
/// ```
/// use tidegate::Ratio;
///
/// let nine_tenths = Ratio::new(9, 10).unwrap();
/// assert_eq!(nine_tenths.floor_of(15), 13);
/// assert_eq!(nine_tenths.ceil_of(15), 14);
/// assert_eq!(Ratio::new(3, 2).unwrap().floor_of(u64::MAX), u64::MAX); // saturates
/// assert!(Ratio::new(1, 0).is_none());
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Ratio {
    numerator: u32,
    denominator: NonZeroU32,
}

impl Ratio {
    /// Nothing of it.
    pub const ZERO: Self = Self { numerator: 0, denominator: NonZeroU32::MIN };
    /// All of it.
    pub const ONE: Self = Self { numerator: 1, denominator: NonZeroU32::MIN };
    /// One half.
    pub const HALF: Self = Self::of(1, 2);

    /// `numerator / denominator`; `None` where the denominator is zero.
    #[must_use]
    pub const fn new(numerator: u32, denominator: u32) -> Option<Self> {
        match NonZeroU32::new(denominator) {
            Some(denominator) => Some(Self { numerator, denominator }),
            None => None,
        }
    }

    /// For this crate's own constants, whose denominators are not zero.
    pub(crate) const fn of(numerator: u32, denominator: u32) -> Self {
        match Self::new(numerator, denominator) {
            Some(ratio) => ratio,
            None => Self::ZERO,
        }
    }

    /// The upper part of the fraction as given.
    #[must_use]
    pub const fn numerator(self) -> u32 {
        self.numerator
    }

    /// The lower part of the fraction as given; never zero.
    #[must_use]
    pub const fn denominator(self) -> u32 {
        self.denominator.get()
    }

    /// Whether the fraction is more than one.
    #[must_use]
    pub const fn exceeds_one(self) -> bool {
        self.numerator > self.denominator.get()
    }

    /// Whether the fraction is less than one.
    #[must_use]
    pub const fn is_below_one(self) -> bool {
        self.numerator < self.denominator.get()
    }

    /// The fraction of `value`, rounded down; saturates.
    #[must_use]
    pub fn floor_of(self, value: u64) -> u64 {
        let (whole, rest) = self.split(value);
        whole.saturating_add(rest / self.denominator_wide())
    }

    /// The fraction of `value`, rounded up; saturates.
    #[must_use]
    pub fn ceil_of(self, value: u64) -> u64 {
        let (whole, rest) = self.split(value);
        let up = u64::from(rest % self.denominator_wide() != 0);
        whole.saturating_add(rest / self.denominator_wide()).saturating_add(up)
    }

    /// `value * numerator` as (whole denominators' worth, what is left over). Dividing first keeps
    /// every product within 64 bits: the remainder is below 2^32, so `rest` is below 2^64.
    fn split(self, value: u64) -> (u64, u64) {
        let numerator = u64::from(self.numerator);
        let whole = value / self.denominator_wide();
        let rest = value % self.denominator_wide();
        (whole.saturating_mul(numerator), rest.saturating_mul(numerator))
    }

    fn denominator_wide(self) -> NonZeroU64 {
        NonZeroU64::from(self.denominator)
    }
}

/// `floor(count * 2^bits / divisor)`, saturating; `divisor` must not be zero (zero answers 0).
///
/// Long division, bit by bit: it runs where a policy is built, where 128-bit division would cost a
/// microcontroller a kilobyte of flash.
#[must_use]
pub(crate) const fn shifted_div_floor(count: u64, bits: u32, divisor: u64) -> u64 {
    let (Some(mut quotient), Some(mut rest)) =
        (count.checked_div(divisor), count.checked_rem(divisor))
    else {
        return 0;
    };
    let mut bit = 0;
    while bit < bits {
        if quotient > u64::MAX / 2 {
            return u64::MAX;
        }
        quotient = quotient.wrapping_shl(1);
        // `2 * rest >= divisor`, asked without the doubling, which might not fit.
        let missing = divisor.saturating_sub(rest);
        if rest >= missing {
            rest = rest.saturating_sub(missing);
            quotient |= 1;
        } else {
            rest = rest.saturating_add(rest);
        }
        bit = bit.saturating_add(1u32);
    }
    quotient
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_ratio_rounds_as_its_name_says(
            numerator in prop_oneof![0..20u32, any::<u32>()],
            denominator in prop_oneof![1..20u32, 1..=u32::MAX],
            value in prop_oneof![0..1000u64, any::<u64>()],
        ) {
            let ratio = Ratio::new(numerator, denominator).unwrap();
            let wide = u128::from(value) * u128::from(numerator);
            let ends = u128::from(u64::MAX);
            prop_assert_eq!(u128::from(ratio.floor_of(value)), (wide / u128::from(denominator)).min(ends));
            prop_assert_eq!(u128::from(ratio.ceil_of(value)), wide.div_ceil(u128::from(denominator)).min(ends));
        }

        #[test]
        fn shifted_division_is_exact(
            count in any::<u64>(), bits in 0..=54u32, divisor in prop_oneof![1..100u64, 1..=u64::MAX],
        ) {
            let exact = ((u128::from(count) << bits) / u128::from(divisor)).min(u128::from(u64::MAX));
            prop_assert_eq!(u128::from(shifted_div_floor(count, bits, divisor)), exact);
        }
    }
}
