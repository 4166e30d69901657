//! Base-2 logarithms in 32-bit integers.

use core::ops::{Add, Neg, Sub};

use crate::snapshot::{Field, Reader, Writer};
use crate::time::Span;

/// A base-2 logarithm, in units of 2^-24 octaves.
///
/// The law only multiplies rates, which adds their logarithms. An interval of nine years takes four
/// bytes, like an interval of a nanosecond. Spans and counts are below 64 octaves, so the sum of
/// two fits.
///
/// An interval between calls is stored as the logarithm of its nanoseconds.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) struct Log(i32);

/// A logarithm in units of 2^-8 octaves, if an error of a few per cent is acceptable.
pub(super) type Coarse = i32;

impl Log {
    pub(super) const ZERO: Self = Self(0);
    pub(super) const OCTAVE: Self = Self(1 << 24);

    /// log2 of `number`, within 0.0011 octaves. Zero counts as one.
    #[cfg_attr(
        any(target_arch = "arm", target_arch = "riscv32", target_arch = "wasm32"),
        inline(never)
    )]
    #[expect(clippy::cast_possible_wrap, reason = "63 octaves and a fraction fit")]
    pub(super) const fn of(number: u64) -> Self {
        let number = if number == 0 { 1 } else { number };
        let zeros = number.leading_zeros() & 63;
        // The 16 bits after the leading one.
        let part = ((number << zeros) >> 47) as u32 & 0xFFFF;
        // x + x (1 - x) (a - b x), which is exact at both ends of an octave.
        let arch = part.wrapping_mul(65_536u32.wrapping_sub(part)) >> 16;
        let slope = 27_582u32.wrapping_sub(10_249u32.wrapping_mul(part) >> 16);
        let whole = (63 ^ zeros) << 24 | part << 8;
        Self(whole.wrapping_add(arch.wrapping_mul(slope) >> 8) as i32)
    }

    pub(super) const fn of_span(span: Span) -> Self {
        Self::of(span.as_nanos())
    }

    /// log2 of a fraction, for constants.
    pub(super) const fn of_ratio(numerator: u32, denominator: u32) -> Self {
        Self(Self::of(numerator as u64).0.wrapping_sub(Self::of(denominator as u64).0))
    }

    /// The number of nanoseconds, rounded down and saturating: within 0.02 %.
    #[cfg_attr(
        any(target_arch = "arm", target_arch = "riscv32", target_arch = "wasm32"),
        inline(never)
    )]
    #[expect(clippy::cast_sign_loss, reason = "the fraction is positive")]
    pub(super) const fn span(self) -> Span {
        let part = (self.0 >> 8) as u32 & 0xFFFF;
        let arch = part.wrapping_mul(65_536u32.wrapping_sub(part)) >> 16;
        let slope = 19_928u32.wrapping_add(5_186u32.wrapping_mul(part) >> 16);
        let mantissa = ((1 << 24) | part << 8).wrapping_sub(arch.wrapping_mul(slope) >> 8);
        Span::from_nanos(match self.0 >> 24 {
            octave @ 0..24 => (mantissa >> 24i32.wrapping_sub(octave)) as u64,
            octave @ 24..63 => (mantissa as u64) << octave.wrapping_sub(24),
            63.. => u64::MAX,
            ..0 => 0,
        })
    }

    /// Adds octaves.
    pub(super) const fn octaves(self, octaves: i32) -> Self {
        debug_assert!(octaves.unsigned_abs() < 64);
        Self(fits(self.0.checked_add(octaves << 24), self.0.wrapping_add(octaves << 24)))
    }

    pub(super) const fn coarse(self) -> Coarse {
        self.0 >> 16
    }

    pub(super) const fn of_coarse(coarse: Coarse) -> Self {
        debug_assert!(coarse << 16 >> 16 == coarse);
        Self(coarse << 16)
    }

    /// Half of it: the logarithm of the square root.
    pub(super) const fn halved(self) -> Self {
        Self(self.0 >> 1)
    }

    /// The gain of a rate that grows by the fraction 2^`growth`, for a small one.
    pub(super) fn of_growth(growth: Coarse) -> Self {
        /// log2 of log2(e).
        const TO_OCTAVES: Coarse = 135;
        let parts = power(growth.saturating_add(TO_OCTAVES + (16 << 8)));
        Self(i32::try_from(parts).unwrap_or(i32::MAX)).min(Self::OCTAVE)
    }

    /// The growth of the interval if the rate loses `cut` / 2^16, at most a half.
    pub(super) fn of_cut(cut: u32) -> Self {
        let keep = 65_536u32.saturating_sub(cut.min(32_768));
        Self::of_ratio(65_536, keep)
    }
}

/// log2 of a count; zero counts as one. The mantissa is used as its own logarithm, which is up to
/// 0.09 octaves too small.
#[cfg_attr(
    any(target_arch = "arm", target_arch = "riscv32", target_arch = "wasm32"),
    inline(never)
)]
pub(super) const fn coarse(number: u32) -> Coarse {
    let number = if number == 0 { 1 } else { number };
    let zeros = number.leading_zeros() & 31;
    let part = (number << zeros) >> 23 & 255;
    ((31 ^ zeros) << 8 | part).cast_signed()
}

/// 2^`coarse` with 8 bits of fraction, at most 2^31: the inverse of [`coarse`].
#[cfg_attr(
    any(target_arch = "arm", target_arch = "riscv32", target_arch = "wasm32"),
    inline(never)
)]
pub(super) const fn power(coarse: Coarse) -> u32 {
    let mantissa = 256 | (coarse & 255).cast_unsigned();
    match coarse >> 8 {
        octave @ 0..23 => mantissa << octave,
        23.. => 1 << 31,
        octave @ -8..0 => mantissa >> 0i32.wrapping_sub(octave),
        ..-8 => 0,
    }
}

/// The sum, which the tests check for overflow: saturation would double the code size on a
/// microcontroller.
const fn fits(checked: Option<i32>, wrapped: i32) -> i32 {
    debug_assert!(checked.is_some());
    wrapped
}

impl Add for Log {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(fits(self.0.checked_add(other.0), self.0.wrapping_add(other.0)))
    }
}

impl Sub for Log {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(fits(self.0.checked_sub(other.0), self.0.wrapping_sub(other.0)))
    }
}

impl Neg for Log {
    type Output = Self;

    fn neg(self) -> Self {
        Self(fits(self.0.checked_neg(), self.0.wrapping_neg()))
    }
}

impl Field for Log {
    const BYTES: usize = 4;

    fn write(&self, out: &mut Writer<'_>) {
        out.u32(self.0.cast_unsigned());
    }

    fn read(input: &mut Reader<'_>) -> Self {
        // A record may contain any value. Within these bounds the sum of two fits.
        Self(input.u32().cast_signed().clamp(-63 << 24, (64 << 24) - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Instant;

    #[test]
    fn the_sum_of_two_logarithms_of_any_record_fits() {
        for (word, read) in
            [(i32::MAX, (64 << 24) - 1), (i32::MIN, -63 << 24), (64 << 24, (64 << 24) - 1), (7, 7)]
        {
            let mut input = [0; 4];
            Log(word).write(&mut Writer::new(&mut input, Instant::ZERO));
            let log = Log::read(&mut Reader::new(&input, Instant::ZERO, Span::ZERO));
            assert_eq!((log, log + log), (Log(read), Log(2 * read)));
        }
    }
}
