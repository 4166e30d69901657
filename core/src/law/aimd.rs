//! `aimd`: additive increase, multiplicative decrease, in the rate.

use crate::fixed::Ratio;
use crate::gate::Pace;
use crate::law::{Law, Move, Sample};
use crate::outcome::Outcome;
use crate::rate::{LawBurst, Quota, QuotaError};
use crate::rng::Rng;
use crate::time::Instant;

/// What [`Aimd`] is made of. Start from [`AimdConfig::DEFAULT`] and change what differs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct AimdConfig {
    /// The rate to begin with. Its burst is the law's burst at every rate.
    pub start: Quota,
    /// The rate below which no cut goes.
    pub floor: Quota,
    /// The rate above which no growth goes.
    pub ceiling: Quota,
    /// What is added to the rate ...
    pub step: Quota,
    /// ... after this many successes of calls that had to wait for the rate.
    pub every: u16,
    /// What a cut keeps of the rate; below one.
    pub keep: Ratio,
}

impl AimdConfig {
    /// Ten calls a second to begin with, halved when throttled (seed of the idea: "a slightly
    /// aggressive limit of say 10 requests/second", then 5, then 2.5), one call a second more after
    /// every ten successes, between one call a minute and a million a second.
    pub const DEFAULT: Self = Self {
        start: per_second(10),
        floor: match Quota::per_minute(1) {
            Ok(quota) => quota,
            Err(_) => per_second(1),
        },
        ceiling: per_second(1_000_000),
        step: per_second(1),
        every: 10,
        keep: Ratio::HALF,
    };
}

impl Default for AimdConfig {
    fn default() -> Self {
        Self::DEFAULT
    }
}

const fn per_second(count: u64) -> Quota {
    match Quota::per_second(count) {
        Ok(quota) => quota,
        Err(_) => Quota::of_law_rate(1, LawBurst::ONE),
    }
}

/// Additive increase, multiplicative decrease (Chiu and Jain, 1989), applied to the rate: cut to a
/// part when the server pushes back, grow by a constant step after so many successes.
///
/// AIMD is fair at the scale that its step fits. Well below it most calls come back throttled (at
/// one call a second a step of one doubles the rate); well above it, growing back takes long. A
/// law for every scale is not this one.
///
/// ```
/// use tidegate::law::{Aimd, AimdConfig, AimdError};
/// use tidegate::{Quota, Ratio};
///
/// let gentle = AimdConfig { keep: Ratio::new(7, 10).unwrap(), ..AimdConfig::DEFAULT };
/// assert!(Aimd::new(gentle).is_ok());
/// let never = AimdConfig { keep: Ratio::ONE, ..AimdConfig::DEFAULT };
/// assert_eq!(Aimd::new(never), Err(AimdError::KeepNotBelowOne));
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Aimd {
    start: u64,
    floor: u64,
    ceiling: u64,
    step: u64,
    burst: LawBurst,
    every: u16,
    keep: Ratio,
}

/// What [`Aimd`] remembers: its rate, and the successes since it last moved.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct AimdState {
    rate: u64,
    successes: u16,
}

impl Aimd {
    /// The law of [`AimdConfig::DEFAULT`].
    pub const DEFAULT: Self = match Self::new(AimdConfig::DEFAULT) {
        Ok(law) => law,
        // Not reached: a test holds the default against its own checks.
        Err(_) => Self {
            start: 1,
            floor: 1,
            ceiling: 1,
            step: 1,
            burst: LawBurst::ONE,
            every: 1,
            keep: Ratio::HALF,
        },
    };

    /// The law of a configuration.
    ///
    /// # Errors
    /// [`AimdError`] names what is wrong.
    pub const fn new(config: AimdConfig) -> Result<Self, AimdError> {
        let burst = match LawBurst::new(config.start.burst()) {
            Ok(burst) => burst,
            Err(error) => return Err(AimdError::Burst(error)),
        };
        let law = Self {
            start: config.start.law_rate(),
            floor: config.floor.law_rate(),
            ceiling: config.ceiling.law_rate(),
            step: config.step.law_rate(),
            burst,
            every: config.every,
            keep: config.keep,
        };
        if law.every == 0 {
            return Err(AimdError::ZeroEvery);
        }
        if !law.keep.is_below_one() {
            return Err(AimdError::KeepNotBelowOne);
        }
        if law.floor > law.start || law.start > law.ceiling {
            return Err(AimdError::StartOutside);
        }
        Ok(law)
    }
}

impl Default for Aimd {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Law for Aimd {
    type State = AimdState;

    fn start(&self, _: Instant) -> AimdState {
        AimdState { rate: self.start, successes: 0 }
    }

    fn quota(&self, state: &AimdState) -> Option<Quota> {
        Some(Quota::of_law_rate(state.rate, self.burst))
    }

    fn observe(&self, state: &mut AimdState, _: &mut Pace, sample: &Sample, _: &mut Rng) -> Move {
        if !sample.fresh {
            return Move::Held;
        }
        if sample.outcome.is_pushback() {
            state.rate = self.keep.floor_of(state.rate).max(self.floor);
            state.successes = 0;
            return Move::Slower;
        }
        if sample.outcome != Outcome::Ok || !sample.paced {
            return Move::Held;
        }
        state.successes = state.successes.saturating_add(1);
        if state.successes < self.every {
            return Move::Held;
        }
        state.successes = 0;
        state.rate = state.rate.saturating_add(self.step).min(self.ceiling);
        Move::Faster
    }
}

/// What is wrong with an [`AimdConfig`].
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum AimdError {
    /// The start's burst is zero or above 17 592.
    Burst(QuotaError),
    /// Growth after every zero successes has no meaning.
    ZeroEvery,
    /// A cut that keeps everything is no cut.
    KeepNotBelowOne,
    /// The start lies below the floor or above the ceiling.
    StartOutside,
}

impl core::fmt::Display for AimdError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Burst(_) => "aimd: the start's burst must be 1 to 17592",
            Self::ZeroEvery => "aimd: `every` must be at least 1",
            Self::KeepNotBelowOne => "aimd: `keep` must be below 1",
            Self::StartOutside => "aimd: `start` must lie between `floor` and `ceiling`",
        })
    }
}

impl core::error::Error for AimdError {}

#[cfg(test)]
mod tests {
    use super::*;

    struct Bench {
        law: Aimd,
        state: AimdState,
    }

    impl Bench {
        fn new(config: AimdConfig) -> Self {
            let law = Aimd::new(config).unwrap();
            Self { law, state: law.start(Instant::ZERO) }
        }

        fn see(&mut self, sample: Sample) -> Move {
            let mut pace = Pace::new(Instant::ZERO);
            self.law.observe(&mut self.state, &mut pace, &sample, &mut Rng::new(0))
        }

        /// Calls a thousand seconds.
        fn per_1000_s(&self) -> u64 {
            (self.state.rate * 1_000) >> 20
        }
    }

    fn sample(outcome: Outcome) -> Sample {
        Sample::new(Instant::ZERO, Instant::ZERO, outcome)
    }

    #[test]
    fn the_default_passes_its_own_checks() {
        assert_eq!(Aimd::new(AimdConfig::DEFAULT), Ok(Aimd::DEFAULT));
        assert_eq!(Bench::new(AimdConfig::DEFAULT).per_1000_s(), 10_000);
    }

    #[test]
    fn the_rate_halves_and_returns_step_by_step() {
        let mut bench = Bench::new(AimdConfig::DEFAULT);
        assert_eq!(bench.see(sample(Outcome::Throttled)), Move::Slower);
        assert_eq!(bench.per_1000_s(), 5_000);
        assert_eq!(bench.see(sample(Outcome::Busy)), Move::Slower);
        assert_eq!(bench.per_1000_s(), 2_500);
        for _ in 0..9 {
            assert_eq!(bench.see(sample(Outcome::Ok)), Move::Held);
        }
        assert_eq!(bench.see(sample(Outcome::Ok)), Move::Faster);
        assert_eq!(bench.per_1000_s(), 3_500);
    }

    #[test]
    fn calls_that_teach_nothing_move_nothing() {
        let mut bench = Bench::new(AimdConfig { every: 1, ..AimdConfig::DEFAULT });
        let before = bench.state;
        for sample in [
            Sample { fresh: false, ..sample(Outcome::Throttled) },
            Sample { fresh: false, ..sample(Outcome::Ok) },
            Sample { paced: false, ..sample(Outcome::Ok) },
            sample(Outcome::Failed),
        ] {
            assert_eq!(bench.see(sample), Move::Held, "{sample:?}");
            assert_eq!(bench.state, before);
        }
    }

    #[test]
    fn the_rate_stays_between_floor_and_ceiling() {
        let config = AimdConfig { every: 1, ceiling: per_second(12), ..AimdConfig::DEFAULT };
        let mut bench = Bench::new(config);
        for _ in 0..100 {
            bench.see(sample(Outcome::Ok));
        }
        assert_eq!(bench.per_1000_s(), 12_000);
        for _ in 0..100 {
            bench.see(sample(Outcome::Throttled));
        }
        assert_eq!(bench.state.rate, Quota::per_minute(1).unwrap().law_rate());
    }

    #[test]
    fn a_configuration_is_checked_where_it_is_made() {
        let good = AimdConfig::DEFAULT;
        let crowded = per_second(10).with_burst(17_593).unwrap();
        for (config, expected) in [
            (AimdConfig { every: 0, ..good }, AimdError::ZeroEvery),
            (AimdConfig { keep: Ratio::ONE, ..good }, AimdError::KeepNotBelowOne),
            (AimdConfig { floor: per_second(11), ..good }, AimdError::StartOutside),
            (AimdConfig { ceiling: per_second(9), ..good }, AimdError::StartOutside),
            (AimdConfig { start: crowded, ..good }, AimdError::Burst(QuotaError::BurstTooLarge)),
        ] {
            assert_eq!(Aimd::new(config), Err(expected));
        }
    }
}
