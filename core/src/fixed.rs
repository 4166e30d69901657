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
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Ratio {
    numerator: u32,
    denominator: NonZeroU32,
}

impl Ratio {
    /// Zero.
    pub const ZERO: Self = Self { numerator: 0, denominator: NonZeroU32::MIN };
    /// One.
    pub const ONE: Self = Self { numerator: 1, denominator: NonZeroU32::MIN };
    /// One half.
    pub const HALF: Self = Self::of(1, 2);

    /// `numerator / denominator`; `None` if the denominator is zero.
    #[must_use]
    pub const fn new(numerator: u32, denominator: u32) -> Option<Self> {
        match NonZeroU32::new(denominator) {
            Some(denominator) => Some(Self { numerator, denominator }),
            None => None,
        }
    }

    pub(crate) fn over(numerator: u32, denominator: NonZeroU32) -> Self {
        Self { numerator, denominator }
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
    pub(crate) const fn exceeds_one(self) -> bool {
        self.numerator > self.denominator.get()
    }

    /// The fraction in 2^-31, rounded down. It must not exceed one.
    #[expect(clippy::cast_possible_truncation, reason = "it fits")]
    pub(crate) const fn q31(self) -> u32 {
        self.floor_of_small(1 << 31) as u32
    }

    /// Whether the fraction was given as these two numbers.
    pub(crate) const fn is(self, numerator: u32, denominator: u32) -> bool {
        self.numerator == numerator && self.denominator.get() == denominator
    }

    /// Whether the fraction is less than one.
    pub(crate) const fn is_below_one(self) -> bool {
        self.numerator < self.denominator.get()
    }

    /// The fraction of `value`, rounded down; saturates.
    #[must_use]
    pub const fn floor_of(self, value: u64) -> u64 {
        self.split(value).0
    }

    /// The fraction of `value`, rounded up; saturates.
    #[must_use]
    #[inline(always)] // the fraction is a constant
    pub const fn ceil_of(self, value: u64) -> u64 {
        let (floor, rest) = match self.numerator {
            1 => div_rem(value, self.divisor()),
            _ => self.split(value),
        };
        floor.saturating_add((rest > 0) as u64)
    }

    /// [`floor_of`](Self::floor_of) without its code for large values.
    pub(crate) const fn floor_of_small(self, value: u32) -> u64 {
        div_rem((self.numerator as u64).wrapping_mul(value as u64), self.divisor()).0
    }

    const fn divisor(self) -> NonZeroU64 {
        match NonZeroU64::new(self.denominator.get() as u64) {
            Some(divisor) => divisor,
            None => NonZeroU64::MIN, // not reached
        }
    }

    /// The fraction of `value`, rounded down, and what is left over. Dividing first keeps every
    /// product within 64 bits: a remainder is below 2^32, and so is the numerator.
    const fn split(self, value: u64) -> (u64, u64) {
        let (numerator, denominator) = (self.numerator as u64, self.divisor());
        let (whole, rest) = div_rem(value, denominator);
        let (part, rest) = div_rem(rest.wrapping_mul(numerator), denominator);
        (whole.saturating_mul(numerator).saturating_add(part), rest)
    }
}

#[cfg(not(any(target_arch = "arm", target_arch = "riscv32")))]
#[expect(clippy::arithmetic_side_effects, reason = "the divisor is not zero")]
pub(crate) const fn div_rem(a: u64, b: NonZeroU64) -> (u64, u64) {
    (a / b.get(), a % b.get())
}

/// `a / b` and `a % b`, bit by bit: the 64-bit division that microcontrollers link takes a
/// kilobyte.
#[cfg(any(target_arch = "arm", target_arch = "riscv32"))]
#[inline(never)]
pub(crate) const fn div_rem(a: u64, b: NonZeroU64) -> (u64, u64) {
    let (mut quotient, mut rest, mut part) = (0u64, a, b.get());
    let mut bit = 1u64;
    while part < rest >> 8 {
        part <<= 8;
        bit <<= 8;
    }
    while part < rest && part >> 63 == 0 {
        part <<= 1;
        bit <<= 1;
    }
    while bit > 0 {
        if rest >= part {
            rest = rest.wrapping_sub(part);
            quotient |= bit;
        }
        part >>= 1;
        bit >>= 1;
    }
    (quotient, rest)
}

/// `a / b`, and 0 if `b` is zero.
#[cfg(not(all(target_arch = "arm", not(target_has_atomic = "32"))))]
pub(crate) fn div(a: u32, b: u32) -> u32 {
    a.checked_div(b).unwrap_or(0)
}

/// `a / b`, and 0 if `b` is zero, bit by bit. Arm's smallest cores have no instruction for division, nor for atomics.
#[cfg(all(target_arch = "arm", not(target_has_atomic = "32")))]
#[inline(never)]
pub(crate) fn div(a: u32, b: u32) -> u32 {
    let (mut quotient, mut rest) = (0u32, 0u32);
    for bit in (0..u32::BITS).rev() {
        quotient <<= 1;
        rest = rest << 1 | a >> bit & 1;
        if rest >= b {
            rest = rest.wrapping_sub(b);
            quotient |= 1;
        }
    }
    if b == 0 { 0 } else { quotient }
}

/// `floor(a * b / divisor)`, saturating; `divisor` must not be zero (zero returns 0).
///
/// Uses binary multiplication: it only runs when a rate changes, and 128-bit division would take
/// a kilobyte of a microcontroller's flash.
#[must_use]
pub(crate) const fn mul_div_floor(a: u64, b: u64, divisor: u64) -> u64 {
    let Some(divisor) = NonZeroU64::new(divisor) else { return 0 };
    let (whole, part) = div_rem(a, divisor);
    // The part's share is below `b`, so it fits.
    let (mut quotient, mut rest) = (0u64, 0u64);
    let (mut bits, mut left) = (b, u64::BITS);
    while left > 0 {
        let (carry, doubled) = add_below(rest, rest, divisor);
        (quotient, rest) = ((quotient << 1).wrapping_add(carry), doubled);
        if bits >> 63 == 1 {
            let (carry, sum) = add_below(rest, part, divisor);
            (quotient, rest) = (quotient.wrapping_add(carry), sum);
        }
        (bits, left) = (bits << 1, left.wrapping_sub(1));
    }
    whole.saturating_mul(b).saturating_add(quotient)
}

/// `x + y` for two numbers below `modulus`, as (quotient, remainder); the sum itself might not fit.
const fn add_below(x: u64, y: u64, modulus: NonZeroU64) -> (u64, u64) {
    let missing = modulus.get().wrapping_sub(x);
    if y >= missing { (1, y.wrapping_sub(missing)) } else { (0, x.wrapping_add(y)) }
}

/// `2^32 * e^(-x / y)`, at most 4 off (a part in 10^9); `y` must not be zero (zero returns 0).
///
/// e^-z is 2^-k * e^-r with r below ln 2: the first is a shift, and for the second twelve terms of
/// the series are enough.
#[must_use]
pub(crate) fn exp_neg_q32(x: u64, y: u64) -> u64 {
    const ONE: u64 = 1 << 32;
    const LN_2: NonZeroU64 = NonZeroU64::MIN.saturating_add(2_977_044_471);
    // e^-23 is below 2^-33, which rounds to nothing.
    if x.checked_div(y).is_none_or(|whole| whole >= 23) {
        return 0;
    }
    let z = mul_div_floor(x, ONE, y);
    let rest = z % LN_2;
    // Horner's scheme, from the inside: 1 - r (1 - r/2 (1 - r/3 (...))).
    let sum = (1..=12).rev().fold(ONE, |sum, term| {
        let part = rest.saturating_mul(ONE.checked_div(term).unwrap_or(0)) >> 32;
        ONE.saturating_sub(part.saturating_mul(sum) >> 32)
    });
    sum.checked_shr(u32::try_from(z / LN_2).unwrap_or(u32::MAX)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_exponential_decreases_smoothly_to_zero() {
        // 2^32 * e^-z for z = 18 ... 23.
        let faded: [u64; 6] = core::array::from_fn(|n| exp_neg_q32(18 + n as u64, 1));
        for (near, exact) in faded.into_iter().zip([65, 24, 9, 3, 1, 0]) {
            assert!(near.abs_diff(exact) <= 4, "{faded:?}");
        }
        assert!(faded[2] > 4, "{faded:?}");
    }

    proptest! {
        #[test]
        fn floor_rounds_down_and_ceil_rounds_up(
            numerator in prop_oneof![0..20u32, any::<u32>()],
            denominator in prop_oneof![1..20u32, 1..=u32::MAX],
            value in prop_oneof![0..1000u64, any::<u64>()],
        ) {
            let ratio = Ratio::new(numerator, denominator).unwrap();
            let wide = u128::from(value) * u128::from(numerator);
            let ends = u128::from(u64::MAX);
            prop_assert_eq!(u128::from(ratio.floor_of(value)), (wide / u128::from(denominator)).min(ends));
            prop_assert_eq!(u128::from(ratio.ceil_of(value)), wide.div_ceil(u128::from(denominator)).min(ends));
            if let Ok(small) = u32::try_from(value) {
                prop_assert_eq!(ratio.floor_of_small(small), ratio.floor_of(value));
            }
        }

        #[test]
        fn the_exponential_has_the_documented_accuracy(
            x in prop_oneof![0..1_000_000u64, any::<u64>()], y in prop_oneof![1..100_000u64, 1..=u64::MAX],
        ) {
            #[expect(clippy::float_arithmetic, clippy::disallowed_types, clippy::cast_precision_loss, reason = "the oracle")]
            let exact = libm::exp(-(x as f64) / (y as f64)) * 4_294_967_296.0;
            #[expect(clippy::float_arithmetic, clippy::disallowed_types, clippy::cast_precision_loss, reason = "the oracle")]
            let off = libm::fabs(exp_neg_q32(x, y) as f64 - exact);
            prop_assert!(off <= 4.0, "{}", off);
        }

        #[test]
        fn the_quotient_of_a_product_is_exact(
            a in any::<u64>(), b in prop_oneof![0..100u64, any::<u64>()],
            divisor in prop_oneof![1..100u64, 1..=u64::MAX],
        ) {
            let exact = (u128::from(a) * u128::from(b) / u128::from(divisor)).min(u128::from(u64::MAX));
            prop_assert_eq!(u128::from(mul_div_floor(a, b, divisor)), exact);
        }
    }
}
