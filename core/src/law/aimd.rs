//! `aimd`: additive increase, multiplicative decrease, in the rate.

use core::num::NonZeroU32;

use super::record::record;
use crate::config_error::ConfigError;
use crate::fixed::Ratio;
use crate::gate::{Pacing, lately};
use crate::law::{Law, Move, Pace, Sample};
use crate::outcome::Outcome;
use crate::rate::{Quota, law_interval};
use crate::rng::Rng;
use crate::snapshot::fields;
use crate::time::{Instant, Span};

/// The configuration of [`Aimd`]. Start from [`AimdConfig::DEFAULT`].
///
/// ```
/// use tidegate::law::{Aimd, AimdConfig};
/// use tidegate::{Quota, Span};
///
/// let most = Quota::per(25, Span::from_secs(2)).unwrap();
/// let law = Aimd::new(AimdConfig { every: 1, ceiling: most, ..AimdConfig::DEFAULT });
/// assert!(law.is_ok());
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct AimdConfig {
    /// The initial rate. Its burst is the burst at every rate.
    pub start: Quota,
    /// The minimum rate.
    pub floor: Quota,
    /// The maximum rate.
    pub ceiling: Quota,
    /// The amount added to the rate ...
    pub step: Quota,
    /// ... after this many successes of calls that had to wait for the rate; at least 1.
    pub every: u16,
    /// The share of the rate that a cut keeps; below one.
    pub keep: Ratio,
    /// The cooldown after each cut; `None` only cuts.
    pub cooldown: Option<AimdCooldown>,
}

/// A cooldown of all calls after each cut. It doubles with each cut, and successes undo doublings.
///
/// The rate responds to sustained load, the cooldown to short peaks: "So with a combination of
/// exponential backoff to deal with transient spikes and rate limiting to treat the API limit with
/// respect we have a much better solution."
///
/// ```
/// use tidegate::Span;
/// use tidegate::law::{Aimd, AimdConfig, AimdCooldown};
///
/// let [base, most] = [10, 50].map(Span::from_millis);
/// let cooldown = Some(AimdCooldown { base, most, discount: 3 });
/// assert!(Aimd::new(AimdConfig { cooldown, ..AimdConfig::DEFAULT }).is_ok());
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct AimdCooldown {
    /// The unit: the n-th cut sets a cooldown of 2^n times `base`, half of which is jitter. Above
    /// zero, and at most `most`.
    pub base: Span,
    /// The longest cooldown.
    pub most: Span,
    /// The number of successes that undo one doubling; at least 1.
    pub discount: u16,
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
        cooldown: Some(AimdCooldown {
            base: Span::from_millis(10),
            most: Span::from_secs(10),
            discount: 10,
        }),
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
        Err(_) => Quota::of(law_interval(1), NonZeroU32::MIN),
    }
}

/// Additive increase, multiplicative decrease (Chiu and Jain, 1989), applied to the rate: cut by a
/// factor when the server pushes back, and grow by a constant step after a number of successes. It
/// can be combined with a cooldown whose doublings are undone by successes: "I have never seen
/// implementations that hand both rate limiting and exponential backoff" (the EMR article).
///
/// AIMD works at the scale of its step. Far below, most calls are throttled (at one call per
/// second, a step of one doubles the rate). Far above, recovery is slow. For other scales, use
/// [`Adaptive`](crate::law::Adaptive).
///
/// ```
/// use tidegate::{ConfigError, law::{Aimd, AimdConfig}};
/// use tidegate::{Quota, Ratio};
///
/// let gentle = AimdConfig { keep: Ratio::new(7, 10).unwrap(), ..AimdConfig::DEFAULT };
/// assert!(Aimd::new(gentle).is_ok());
/// let never = AimdConfig { keep: Ratio::ONE, ..AimdConfig::DEFAULT };
/// assert_eq!(Aimd::new(never), Err(ConfigError::AimdKeep));
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Aimd {
    start: u64,
    floor: u64,
    ceiling: u64,
    step: u64,
    burst: NonZeroU32,
    every: u16,
    keep: Ratio,
    cooldown: Option<AimdCooldown>,
}

/// The state of [`Aimd`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct AimdState {
    /// Calls a second with 20 bits of fraction.
    rate: u64,
    /// The interval at this rate.
    interval: Span,
    /// Successes since the last change of the rate.
    successes: u16,
    /// Cuts not yet discounted by successes.
    cuts: u8,
    /// Successes since the last discount.
    calm: u16,
}

impl Aimd {
    /// The law of [`AimdConfig::DEFAULT`].
    pub const DEFAULT: Self = match Self::new(AimdConfig::DEFAULT) {
        Ok(law) => law,
        // Unreachable: a test checks the default.
        Err(_) => Self {
            start: 1,
            floor: 1,
            ceiling: 1,
            step: 1,
            burst: NonZeroU32::MIN,
            every: 1,
            keep: Ratio::HALF,
            cooldown: None,
        },
    };

    /// The law with this configuration. Rates are rounded down to 2^-20 of a call a second (but
    /// never to zero).
    ///
    /// # Errors
    /// [`ConfigError`] names what is wrong.
    pub const fn new(config: AimdConfig) -> Result<Self, ConfigError> {
        let floor = config.floor.law_rate();
        // The longest interval of all.
        let slowest = Quota::of(law_interval(floor), NonZeroU32::MIN);
        let burst = match slowest.with_burst(config.start.burst()) {
            Ok(slowest) => slowest.burst,
            Err(_) => return Err(ConfigError::AimdBurst),
        };
        let law = Self {
            start: config.start.law_rate(),
            floor,
            ceiling: config.ceiling.law_rate(),
            step: config.step.law_rate(),
            burst,
            every: config.every,
            keep: config.keep,
            cooldown: config.cooldown,
        };
        if law.every == 0 {
            return Err(ConfigError::AimdEvery);
        }
        if !law.keep.is_below_one() {
            return Err(ConfigError::AimdKeep);
        }
        if let Some(cooldown) = law.cooldown {
            let (base, most) = (cooldown.base.as_nanos(), cooldown.most.as_nanos());
            if base == 0 || base > most || cooldown.discount == 0 {
                return Err(ConfigError::AimdCooldown);
            }
        }
        if law.floor > law.start || law.start > law.ceiling {
            return Err(ConfigError::AimdStart);
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
        let (rate, interval) = (self.start, law_interval(self.start));
        AimdState { rate, interval, successes: 0, cuts: 0, calm: 0 }
    }

    #[inline(always)]
    fn pace(&self, state: &AimdState, _: Instant, _: u16, _: bool) -> Pace {
        Pace { quota: Some(Quota::of(state.interval, self.burst)), ..Pace::UNLIMITED }
    }

    fn observe(
        &self,
        state: &mut AimdState,
        pacing: &mut Pacing,
        sample: &Sample<'_>,
        rng: &mut Rng,
    ) -> Move {
        if !sample.fresh {
            return Move::Kept;
        }
        if sample.outcome.is_pushback() {
            let cut = self.keep.floor_of(state.rate).max(self.floor);
            self.set(state, pacing, sample.now, cut);
            if let Some(cooldown) = self.cooldown {
                // Beyond the longest cooldown, successes have nothing to undo.
                if cooldown.doubled(state.cuts) < cooldown.most {
                    state.cuts = state.cuts.saturating_add(1);
                }
                state.calm = 0;
                pacing.delay(sample.now, cooldown.after(state.cuts, rng).min(sample.ceiling));
            }
            return Move::Slower;
        }
        if sample.outcome != Outcome::Ok {
            return Move::Kept;
        }
        self.discount(state);
        if !sample.rate_limited {
            return Move::Kept;
        }
        state.successes = state.successes.saturating_add(1);
        if state.successes < self.every {
            return Move::Kept;
        }
        let before = state.rate;
        let grown = before.saturating_add(self.step).min(self.ceiling);
        self.set(state, pacing, sample.now, grown);
        if grown > before { Move::Faster } else { Move::Kept }
    }
}

impl Aimd {
    fn set(&self, state: &mut AimdState, pacing: &mut Pacing, now: Instant, rate: u64) {
        let interval = law_interval(rate);
        if interval != state.interval {
            pacing.rescale(lately(now), state.interval, interval);
        }
        (state.rate, state.interval, state.successes) = (rate, interval, 0);
    }

    /// "We could assume that after 10 un-throttled API requests that we can discount our retry,
    /// ultimately getting back to our 0 retry state."
    fn discount(&self, state: &mut AimdState) {
        let Some(cooldown) = self.cooldown else { return };
        if state.cuts == 0 {
            return;
        }
        state.calm = state.calm.saturating_add(1);
        if state.calm >= cooldown.discount {
            state.calm = 0;
            state.cuts = state.cuts.saturating_sub(1);
        }
    }
}

impl AimdCooldown {
    fn doubled(&self, cuts: u8) -> Span {
        self.base * 1u64.checked_shl(cuts.into()).unwrap_or(u64::MAX)
    }

    fn after(&self, cuts: u8, rng: &mut Rng) -> Span {
        let most = self.doubled(cuts).min(self.most);
        rng.between(Span::from_nanos(most.as_nanos() / 2), most)
    }
}

fields!(AimdState { rate: u64, interval: Span, successes: u16, cuts: u8, calm: u16 });
record!(Aimd, AimdState where |law, state| {
    (law.floor..=law.ceiling).contains(&state.rate) && state.interval == law_interval(state.rate)
});
