//! Octaves: logarithms to the base of two, and back, in integers.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "octaves are below 64 and fractions below 2^24, so all of them fit"
)]

/// log2 of something, with 24 bits of fraction: a step is 4 in 100 million.
pub(super) type Fine = i32;

/// The same with 8 bits of fraction, for where a third of a per cent will do.
pub(super) type Octaves = i32;

/// One octave, as [`Fine`] counts it.
pub(super) const OCTAVE: Fine = 1 << 24;

/// log2 of a number, and of zero as of one; 8 in a million octaves off at most.
pub(super) const fn log2(number: u64) -> Fine {
    let number = if number == 0 { 1 } else { number };
    let zeros = number.leading_zeros() & 63;
    // The leading one is the octave; the 24 bits after it are the fraction.
    let fraction = ((number << zeros) >> 39) as Fine & (OCTAVE - 1);
    ((63 ^ zeros) << 24) as Fine | log2_of_1_and(fraction)
}

/// log2 of a fraction, for constants.
pub(super) const fn log2_of(numerator: u32, denominator: u32) -> Fine {
    log2(numerator as u64).wrapping_sub(log2(denominator as u64))
}

/// log2 of 1 + `part`, for a part below one.
pub(super) const fn log2_of_1_and(part: Fine) -> Fine {
    bent(part, &[27_585_783, -104_369_674, 197_676_760, -296_964_243, 475_296_191])
}

/// 2^`octaves` rounded down, as far as it fits; a millionth off at most.
pub(super) const fn exp2(octaves: Fine) -> u64 {
    let mantissa = (OCTAVE as u64)
        | bent(octaves & (OCTAVE - 1), &[-2_036_310, -11_667_980, -71_595_235, -329_478_958])
            as u64;
    match octaves >> 24 {
        octave @ 0..24 => mantissa >> 24i32.wrapping_sub(octave),
        octave @ 24..63 => mantissa << octave.wrapping_sub(24),
        63.. => u64::MAX,
        ..0 => 0,
    }
}

/// log2 of a number with 8 bits of fraction, and of zero as of one. The mantissa stands for its own
/// logarithm, which is 0.086 octaves off at most.
pub(super) const fn log2_roughly(number: u64) -> Octaves {
    let number = if number == 0 { 1 } else { number };
    let zeros = number.leading_zeros() & 63;
    let fraction = ((number << zeros) >> 55) as Octaves & 255;
    ((63 ^ zeros) << 8) as Octaves | fraction
}

/// 2^`octaves` with 8 bits of fraction, at most 2^31: the inverse of [`log2_roughly`].
pub(super) const fn exp2_roughly(octaves: Octaves) -> u32 {
    let mantissa = 256 | (octaves & 255) as u32;
    match octaves >> 8 {
        octave @ 0..23 => mantissa << octave,
        23.. => 1 << 31,
        octave @ -8..0 => mantissa >> 0i32.wrapping_sub(octave),
        ..-8 => 0,
    }
}

/// Octaves in the two bytes that a state has for them: 128 of them are more than there are.
pub(super) fn clip(octaves: Octaves) -> i16 {
    i16::try_from(octaves).unwrap_or(i16::MAX)
}

/// x + x (1 - x) p(x), for x below 1, where the coefficients of p have 30 bits of fraction, the
/// highest power's first. At both ends of an octave it is x, so that octaves join. The polynomials
/// are Chebyshev's for (log2(1 + x) - x) / (x (1 - x)) and (2^x - 1 - x) / (x (1 - x)).
const fn bent(x: Fine, mut coefficients: &[i32]) -> Fine {
    let mut polynomial = 0i32;
    // Every product is below 2^30 times 2^24.
    while let [coefficient, rest @ ..] = coefficients {
        polynomial = product(polynomial, x, 24).wrapping_add(*coefficient);
        coefficients = rest;
    }
    let arch = product(x, OCTAVE.wrapping_sub(x), 24);
    x.wrapping_add(product(arch, polynomial, 30))
}

/// `a * b / 2^shift`, of factors in 32 bits each: most processors have one instruction for that.
const fn product(a: i32, b: i32, shift: u32) -> i32 {
    ((a as i64).wrapping_mul(b as i64) >> shift) as i32
}

#[cfg(test)]
#[expect(
    clippy::float_arithmetic,
    clippy::disallowed_types,
    clippy::cast_precision_loss,
    reason = "the oracle"
)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn whole_octaves_are_exact() {
        for octave in 0..63 {
            assert_eq!(log2(1 << octave), octave * OCTAVE);
            assert_eq!(exp2(octave * OCTAVE), 1 << octave);
        }
        assert_eq!((log2(0), exp2(-1), exp2(Fine::MAX), exp2(Fine::MIN)), (0, 0, u64::MAX, 0));
        assert!(log2(u64::MAX) < 64 * OCTAVE);
    }

    proptest! {
        #[test]
        fn a_rough_logarithm_rises_with_its_number_and_its_inverse_undoes_it(number in 1u64..1 << 23) {
            let octaves = log2_roughly(number);
            prop_assert!(log2_roughly(number + 1) >= octaves);
            prop_assert!((octaves - (log2(number) >> 16)).abs() <= 23);
            // The power has 8 bits of fraction, the logarithm takes a plain number.
            let back = u64::from(exp2_roughly(octaves) >> 8);
            prop_assert!(back <= number && number - back <= number / 256 + 1);
        }

        #[test]
        fn logarithms_and_powers_are_as_near_as_they_say(number in 1u64.., octaves in 0..63 * OCTAVE) {
            let fine = f64::from(OCTAVE);
            let off = f64::from(log2(number)) / fine - libm::log2(number as f64);
            prop_assert!(off.abs() < 8e-6, "log2: {}", off);
            let exact = libm::exp2(f64::from(octaves) / fine);
            let off = (exp2(octaves) as f64 - exact).abs();
            prop_assert!(off <= 1.0 + exact * 1e-6, "exp2: {}", off);
        }

        #[test]
        fn both_rise_but_for_the_last_bit(number in 1u64..u64::MAX / 2, octaves in 0..62 * OCTAVE, more in 0..OCTAVE) {
            let above = number + (number >> 20) + 1;
            prop_assert!(log2(above) + 1 >= log2(number));
            prop_assert!(exp2(octaves + more) + (exp2(octaves) >> 23) + 1 >= exp2(octaves));
        }
    }
}
