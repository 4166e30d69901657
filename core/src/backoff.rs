//! Backoff schedules: how long one call waits before its next attempt.

use crate::fixed::Ratio;
use crate::linked::Linked;
use crate::rng::Rng;
use crate::time::Span;

/// How the delay grows from attempt to attempt.
///
/// ```
/// use tidegate::{Ratio, Rng, Span, backoff::{Backoff, Growth, Jitter}};
///
/// let climb = |growth| {
///     let (base, most) = (Span::from_nanos(4), Span::from_nanos(13));
///     let schedule = Backoff::new(growth, Jitter::None, base, most).unwrap();
///     let (mut rung, mut rng) = (Span::ZERO, Rng::new(1));
///     [(); 4].map(|()| {
///         rung = schedule.climb(rung, &mut rng);
///         rung.as_nanos()
///     })
/// };
/// assert_eq!(climb(Growth::Constant), [4, 4, 4, 4]);
/// assert_eq!(climb(Growth::Linear), [4, 8, 12, 13]);
/// assert_eq!(climb(Growth::Exponential(Ratio::new(5, 4).unwrap())), [4, 5, 7, 9]); // rounded up
/// // The only one that chance moves where the jitter is `None`, and that may go down again.
/// assert!(climb(Growth::Decorrelated).iter().all(|rung| (4..=13).contains(rung)));
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Growth {
    /// The same delay each time.
    Constant,
    /// Grows by the base each time.
    Linear,
    /// This factor times the previous delay. At least 1.
    Exponential(Ratio),
    /// Random between the base and three times the previous delay, regardless of the jitter
    /// (Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015).
    Decorrelated,
}

/// Jitter: how a delay is randomised, so that clients that failed together do not retry together.
///
/// ```
/// use tidegate::{Ratio, Rng, Span, backoff::{Backoff, Growth, Jitter}};
///
/// // The shortest and the longest of ten thousand clients' delays, in whole milliseconds.
/// let reach = |jitter, rung| {
///     let (base, most) = (Span::from_millis(1), Span::from_millis(1_000));
///     let schedule = Backoff::new(Growth::Linear, jitter, base, most).unwrap();
///     let delays = (0..10_000).map(|seed| schedule.delay(rung, &mut Rng::new(seed)).as_millis());
///     (delays.clone().min().unwrap(), delays.max().unwrap())
/// };
/// let fifth = Jitter::Spread(Ratio::new(1, 5).unwrap());
/// assert_eq!(reach(Jitter::None, Span::from_millis(500)), (500, 500));
/// assert_eq!(reach(Jitter::Full, Span::from_millis(500)), (0, 499));
/// assert_eq!(reach(Jitter::Equal, Span::from_millis(500)), (250, 499));
/// assert_eq!(reach(fifth, Span::from_millis(500)), (400, 599));
/// // At the maximum, a spread only shortens the delay.
/// assert_eq!(reach(fifth, Span::from_millis(1_000)), (800, 999));
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Jitter {
    /// Exactly the delay.
    None,
    /// From zero to the delay.
    Full,
    /// From half the delay to the delay.
    Equal,
    /// The delay plus or minus this part of it, at most the maximum. The part is at most 1.
    Spread(Ratio),
}

/// A schedule of delays between the attempts of one call.
///
/// The delay is capped before the jitter, and never exceeds the maximum. (Adding jitter to the
/// capped delay would exceed the maximum. Capping the jittered delay would synchronise a fleet.)
/// Delays round up, so a growing schedule always grows.
///
/// ```
/// use tidegate::{Rng, Span, backoff::{Backoff, Growth, Jitter}};
///
/// let (base, most) = (Span::from_millis(100), Span::from_millis(350));
/// let schedule = Backoff::new(Growth::Linear, Jitter::None, base, most).unwrap();
/// let mut rng = Rng::new(1);
/// let mut rung = Span::ZERO;
/// let mut delays = [0; 5];
/// for delay in &mut delays {
///     rung = schedule.climb(rung, &mut rng);
///     *delay = schedule.delay(rung, &mut rng).as_millis();
/// }
/// assert_eq!(delays, [100, 200, 300, 350, 350]);
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Backoff {
    growth: Growth,
    jitter: Jitter,
    base: Span,
    most: Span,
}

impl Backoff {
    /// Doubling from 100 ms to 20 s, with the full jitter that the AWS post in [`Growth::Decorrelated`] recommends.
    pub const DEFAULT: Self = Self {
        growth: Growth::Exponential(Ratio::of(2, 1)),
        jitter: Jitter::Full,
        base: Span::from_millis(100),
        most: Span::from_secs(20),
    };

    /// A schedule that begins at `base` and never waits longer than `most`.
    ///
    /// # Errors
    /// [`BackoffError`] names what is wrong.
    pub const fn new(
        growth: Growth,
        jitter: Jitter,
        base: Span,
        most: Span,
    ) -> Result<Self, BackoffError> {
        if base.as_nanos() == 0 {
            return Err(BackoffError::ZeroBase);
        }
        if base.as_nanos() > most.as_nanos() {
            return Err(BackoffError::BaseAboveMost);
        }
        if let Growth::Exponential(factor) = growth
            && factor.is_below_one()
        {
            return Err(BackoffError::FactorBelowOne);
        }
        if let Jitter::Spread(part) = jitter
            && part.exceeds_one()
        {
            return Err(BackoffError::SpreadAboveOne);
        }
        Ok(Self { growth, jitter, base, most })
    }

    /// The delay after `rung` without jitter, from the base to the maximum. [`Span::ZERO`] starts
    /// the schedule. Only a decorrelated schedule draws from `rng`.
    pub fn climb(&self, rung: Span, rng: &mut Rng) -> Span {
        let next = match self.growth {
            Growth::Decorrelated => {
                let rung = rung.max(self.base);
                let top = rung.saturating_add(rung).saturating_add(rung).min(self.most);
                return rng.between(self.base, top);
            }
            Growth::Constant => self.base,
            Growth::Linear => rung.saturating_add(self.base),
            Growth::Exponential(factor) => Span::from_nanos(factor.ceil_of(rung.as_nanos())),
        };
        next.max(self.base).min(self.most)
    }

    /// The next rung and its delay.
    fn next(&self, rung: Span, rng: &mut Rng) -> (Span, Span) {
        let rung = self.climb(rung, rng);
        (rung, self.delay(rung, rng))
    }

    /// The same for a schedule that doubles and has full jitter, which needs no division.
    fn doubled(&self, rung: Span, rng: &mut Rng) -> (Span, Span) {
        let rung = rung.saturating_add(rung).max(self.base).min(self.most);
        (rung, rng.between(Span::ZERO, rung))
    }

    /// The schedule, and the shortest code that follows it.
    pub(crate) const fn linked(self) -> Linked<Self, Next> {
        let doubles = matches!(self.growth, Growth::Exponential(factor) if factor.is(2, 1));
        let follow = match self.jitter {
            Jitter::Full if doubles => Self::doubled,
            _ => Self::next,
        };
        Linked { setting: self, follow }
    }

    /// The delay of `rung` with jitter, at most the maximum for a rung that [`climb`](Self::climb)
    /// returned. A decorrelated rung is returned unchanged, since it is already random.
    pub fn delay(&self, rung: Span, rng: &mut Rng) -> Span {
        if matches!(self.growth, Growth::Decorrelated) {
            return rung;
        }
        let (least, most) = match self.jitter {
            Jitter::None => return rung,
            Jitter::Full => (Span::ZERO, rung),
            Jitter::Equal => (Span::from_nanos(rung.as_nanos() / 2), rung),
            Jitter::Spread(part) => {
                let reach = Span::from_nanos(part.floor_of(rung.as_nanos()));
                (rung.saturating_sub(reach), rung.saturating_add(reach).min(self.most))
            }
        };
        rng.between(least, most)
    }
}

/// The next rung of a schedule, and its delay.
pub(crate) type Next = fn(&Backoff, Span, &mut Rng) -> (Span, Span);

impl Default for Backoff {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// What is wrong with a schedule.
///
/// ```
/// use tidegate::{Ratio, Span, backoff::{Backoff, BackoffError, Growth, Jitter}};
///
/// let (short, long) = (Span::from_millis(100), Span::from_secs(20));
/// let made = |growth, jitter, base, most| Backoff::new(growth, jitter, base, most).unwrap_err();
/// let percent = |part| Ratio::new(part, 100).unwrap();
/// // "No backoff" is a policy without one, and not a schedule of zeros.
/// assert_eq!(made(Growth::Constant, Jitter::None, Span::ZERO, long), BackoffError::ZeroBase);
/// // The two spans are in the wrong order.
/// assert_eq!(made(Growth::Linear, Jitter::Full, long, short), BackoffError::BaseAboveMost);
/// // "Half as much again" is 150 %, not 50 %.
/// let half = Growth::Exponential(percent(50));
/// assert_eq!(made(half, Jitter::Full, short, long), BackoffError::FactorBelowOne);
/// // The spread is a part of the delay and not a factor.
/// let more = Jitter::Spread(percent(120));
/// assert_eq!(made(Growth::Linear, more, short, long), BackoffError::SpreadAboveOne);
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum BackoffError {
    /// A base of zero would stay zero forever.
    ZeroBase,
    /// The base is above the maximum.
    BaseAboveMost,
    /// A factor below one would shrink the delay.
    FactorBelowOne,
    /// A spread above one would reach below zero.
    SpreadAboveOne,
}

impl core::fmt::Display for BackoffError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::ZeroBase => "a backoff's base must be at least 1 ns",
            Self::BaseAboveMost => "a backoff's base must not be above its maximum",
            Self::FactorBelowOne => "a backoff's factor must be at least 1",
            Self::SpreadAboveOne => "a backoff's spread must be at most 1",
        })
    }
}

impl core::error::Error for BackoffError {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use proptest::prelude::*;
    use std::vec::Vec;

    fn rungs(schedule: Backoff, count: usize) -> Vec<u64> {
        let mut rng = Rng::new(1);
        let mut rung = Span::ZERO;
        (0..count)
            .map(|_| {
                rung = schedule.climb(rung, &mut rng);
                rung.as_nanos()
            })
            .collect()
    }

    #[test]
    fn rungs_follow_their_growth_up_to_the_maximum() {
        let plain = |growth, base, most| {
            Backoff::new(growth, Jitter::None, Span::from_nanos(base), Span::from_nanos(most))
                .unwrap()
        };
        let times = |numerator, denominator| {
            Growth::Exponential(Ratio::new(numerator, denominator).unwrap())
        };
        for (schedule, expected) in [
            (plain(Growth::Constant, 5, 9), vec![5, 5, 5]),
            (plain(Growth::Linear, 4, 11), vec![4, 8, 11, 11]),
            (plain(times(2, 1), 3, 40), vec![3, 6, 12, 24, 40, 40]),
            // Rounded up: so that a base of one nanosecond grows.
            (plain(times(3, 2), 1, 20), vec![1, 2, 3, 5, 8, 12, 18, 20]),
            (plain(times(1, 1), 7, 9), vec![7, 7, 7]),
            (plain(times(u32::MAX, 1), u64::MAX / 2, u64::MAX), vec![u64::MAX / 2, u64::MAX]),
        ] {
            assert_eq!(rungs(schedule, expected.len()), expected, "{schedule:?}");
        }
    }

    #[test]
    fn the_default_doubles_from_100_ms_to_20_s_with_full_jitter() {
        let millis = 1_000_000;
        let expected = [100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 20_000, 20_000];
        assert_eq!(rungs(Backoff::DEFAULT, 10), expected.map(|rung| rung * millis));
        let mut rng = Rng::new(1);
        let rung = Span::from_nanos(1_000);
        let drawn: Vec<u64> =
            (0..1_000).map(|_| Backoff::DEFAULT.delay(rung, &mut rng).as_nanos()).collect();
        assert!(*drawn.iter().min().unwrap() < 10 && *drawn.iter().max().unwrap() > 990);
    }

    #[test]
    fn decorrelated_draws_are_between_the_base_and_three_times_the_previous_delay() {
        let (base, most) = (Span::from_nanos(1_000), Span::from_nanos(100_000));
        let schedule = Backoff::new(Growth::Decorrelated, Jitter::None, base, most).unwrap();
        for (before, top) in [(0, 3_000), (1_000, 3_000), (5_000, 15_000), (50_000, 100_000)] {
            let mut rng = Rng::new(before);
            let drawn = (0..2_000).map(|_| schedule.climb(Span::from_nanos(before), &mut rng));
            let drawn: Vec<u64> = drawn.map(Span::as_nanos).collect();
            let (least, most) = (*drawn.iter().min().unwrap(), *drawn.iter().max().unwrap());
            assert!((1_000..1_000 + top / 100).contains(&least), "{before}: from {least}");
            assert!((top - top / 100..=top).contains(&most), "{before}: to {most}");
        }
    }

    #[test]
    fn a_schedule_is_validated_by_the_constructor() {
        let (one, two) = (Span::from_nanos(1), Span::from_nanos(2));
        let half = Growth::Exponential(Ratio::HALF);
        let wide = Jitter::Spread(Ratio::new(3, 2).unwrap());
        for (made, expected) in [
            (Backoff::new(Growth::Linear, Jitter::Full, Span::ZERO, two), BackoffError::ZeroBase),
            (Backoff::new(Growth::Linear, Jitter::Full, two, one), BackoffError::BaseAboveMost),
            (Backoff::new(half, Jitter::Full, one, two), BackoffError::FactorBelowOne),
            (Backoff::new(Growth::Linear, wide, one, two), BackoffError::SpreadAboveOne),
        ] {
            assert_eq!(made, Err(expected));
        }
    }

    proptest! {
        #[test]
        fn a_delay_is_within_its_jitter_and_at_most_the_maximum(
            seed: u64, climbs in 1..80usize,
            base in 1..1u64 << 40, above in 0..=u64::MAX - (1 << 40),
            numerator in 0..100u32, part in 0..=100u32, kind in 0..4usize, shape in 0..4usize,
        ) {
            let factor = Ratio::new(100 + numerator, 100).unwrap();
            let spread = Ratio::new(part, 100).unwrap();
            let growth = [Growth::Constant, Growth::Linear, Growth::Exponential(factor), Growth::Decorrelated][shape];
            let jitter = [Jitter::None, Jitter::Full, Jitter::Equal, Jitter::Spread(spread)][kind];
            let (least, most) = (Span::from_nanos(base), Span::from_nanos(base + above));
            let schedule = Backoff::new(growth, jitter, least, most).unwrap();
            let mut rng = Rng::new(seed);
            let mut rung = Span::ZERO;
            for _ in 0..climbs {
                let before = rung;
                rung = schedule.climb(rung, &mut rng);
                prop_assert!(least <= rung && rung <= most);
                let delay = schedule.delay(rung, &mut rng);
                prop_assert!(delay <= most);
                if growth == Growth::Decorrelated {
                    prop_assert_eq!(delay, rung);
                    continue;
                }
                prop_assert!(rung >= before);
                let reach = spread.floor_of(rung.as_nanos());
                let (low, high) = match jitter {
                    Jitter::None => (rung, rung),
                    Jitter::Full => (Span::ZERO, rung),
                    Jitter::Equal => (Span::from_nanos(rung.as_nanos() / 2), rung),
                    Jitter::Spread(_) => (
                        Span::from_nanos(rung.as_nanos() - reach),
                        rung.saturating_add(Span::from_nanos(reach)).min(most),
                    ),
                };
                prop_assert!(low <= delay && delay <= high);
            }
        }

        #[test]
        fn jitter_also_applies_at_the_maximum(seed: u64) {
            for jitter in [Jitter::Full, Jitter::Equal, Jitter::Spread(Ratio::of(1, 5))] {
                let most = Span::from_secs(20);
                let schedule = Backoff::new(Growth::Linear, jitter, most, most).unwrap();
                let mut rng = Rng::new(seed);
                let drawn: std::collections::BTreeSet<_> =
                    (0..20).map(|_| schedule.delay(most, &mut rng)).collect();
                prop_assert!(drawn.len() > 15);
            }
        }
    }
}
