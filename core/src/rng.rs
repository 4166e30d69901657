//! Entropy: one seed in, then a generator that is part of the state.
//!
//! The seed is required and has no default, because equal seeds keep a fleet in phase: every device would back off for
//! the same "random" time. Use a source that differs between devices and between boots: a hardware generator,
//! `crypto.getRandomValues`, a chip's serial number mixed with a boot counter.

use crate::fixed::Ratio;
use crate::time::Span;

/// The generator: xoroshiro64\*\* 1.0 by Blackman and Vigna (prng.di.unimi.it), 8 bytes of state
/// and 32-bit arithmetic only. Seeds are mixed by `SplitMix64` first, so that neighbouring serial
/// numbers give unrelated sequences.
///
/// It is not for secrets. The same seed and the same calls give the same draws on every machine,
/// so a recorded run replays exactly.
///
/// ```
/// use tidegate::{Rng, Span};
///
/// let mut rng = Rng::new(7);
/// let mut twin = Rng::new(7);
/// let delay = rng.between(Span::from_millis(50), Span::from_millis(100));
/// assert!(delay >= Span::from_millis(50) && delay <= Span::from_millis(100));
/// assert_eq!(delay, twin.between(Span::from_millis(50), Span::from_millis(100)));
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Rng {
    low: u32,
    high: u32,
}

impl Rng {
    /// A generator from `seed`. Any seed is valid, including zero.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        let mut mixed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^= mixed >> 31;
        Self::from_entropy(mixed)
    }

    /// A generator from 64 random bits, which are not mixed: use [`new`](Self::new) for serial numbers and counters.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "the two halves of one word")]
    pub const fn from_entropy(bits: u64) -> Self {
        // The generator would never leave the all-zero state.
        let bits = if bits == 0 { 1 } else { bits };
        Self { low: bits as u32, high: (bits >> 32) as u32 }
    }

    /// A generator seeded from any `rand_core` 0.10 source.
    #[cfg(feature = "rand_core")]
    pub fn from_rng(source: &mut impl rand_core::Rng) -> Self {
        Self::new(source.next_u64())
    }

    /// A byte that generators with other seeds rarely have.
    pub(crate) const fn mark(&self) -> u8 {
        self.high.to_be_bytes()[0]
    }

    /// The next 32 bits.
    pub const fn next_u32(&mut self) -> u32 {
        let drawn = self.low.wrapping_mul(0x9E37_79BB).rotate_left(5).wrapping_mul(5);
        let mixed = self.high ^ self.low;
        self.low = self.low.rotate_left(26) ^ mixed ^ (mixed << 9);
        self.high = mixed.rotate_left(13);
        drawn
    }

    /// A span drawn uniformly from `least..=most`; `least` if `most < least`.
    ///
    /// One draw of 32 bits, multiplied and shifted: no division and no rejection loop, so every
    /// call takes the same time. The steps are 1/2^32 of the range: of an hour, under a microsecond.
    pub fn between(&mut self, least: Span, most: Span) -> Span {
        let word = self.next_u32() as u64;
        let top = (most - least).as_nanos();
        // floor((top + 1) * word / 2^32), in two halves that each fit 64 bits.
        let high = (top >> 32).wrapping_mul(word);
        let low = (top & 0xFFFF_FFFF).wrapping_add(1).wrapping_mul(word) >> 32;
        least + Span::from_nanos(high.wrapping_add(low))
    }

    /// A span drawn uniformly from `middle` ± `part` of it. Both ends saturate, so a part above one
    /// reaches down to zero.
    pub fn around(&mut self, middle: Span, part: Ratio) -> Span {
        self.within(middle, Span::from_nanos(part.floor_of(middle.as_nanos())))
    }

    /// A span drawn uniformly from `middle` ± `reach`.
    pub(crate) fn within(&mut self, middle: Span, reach: Span) -> Span {
        self.between(middle - reach, middle + reach)
    }
}

/// [`Rng::new`].
impl From<u64> for Rng {
    fn from(seed: u64) -> Self {
        Self::new(seed)
    }
}

crate::snapshot::fields!(Rng { low: u32, high: u32 });

#[cfg(all(test, feature = "rand_core"))]
mod tests {
    use super::*;

    #[test]
    fn any_rand_core_source_can_seed_it() {
        struct Counter(u64);
        impl rand_core::TryRng for Counter {
            type Error = core::convert::Infallible;
            fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
                Ok(self.try_next_u64()? as u32)
            }
            fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
                self.0 += 1;
                Ok(self.0)
            }
            fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Self::Error> {
                bytes.fill(0);
                Ok(())
            }
        }
        assert_eq!(Rng::from_rng(&mut Counter(41)), Rng::new(42));
    }
}
