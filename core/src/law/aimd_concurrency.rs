//! `aimd-concurrency`: additive increase, multiplicative decrease, in the number of calls in flight.

use core::num::NonZeroU16;

use super::record::record;
use crate::config_error::ConfigError;
use crate::fixed::Ratio;
use crate::gate::Pacing;
use crate::law::{Law, Move, Pace, Sample};
use crate::outcome::Outcome;
use crate::rng::Rng;
use crate::snapshot::fields;
use crate::time::Instant;

/// The configuration of [`AimdConcurrency`]. Start from [`AimdConcurrencyConfig::DEFAULT`].
///
/// ```
/// use tidegate::{Ratio, law::{AimdConcurrency, AimdConcurrencyConfig}};
///
/// let halving = AimdConcurrencyConfig { keep: Ratio::HALF, ..AimdConcurrencyConfig::DEFAULT };
/// assert!(AimdConcurrency::new(halving).is_ok());
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct AimdConcurrencyConfig {
    /// The initial limit, at least one.
    pub start: NonZeroU16,
    /// The highest limit.
    pub most: NonZeroU16,
    /// The share of the limit that a cut keeps; below one.
    pub keep: Ratio,
}

impl AimdConcurrencyConfig {
    /// Four calls at first, up to a thousand. A cut keeps nine tenths.
    pub const DEFAULT: Self = Self {
        start: NonZeroU16::MIN.saturating_add(3),
        most: NonZeroU16::MIN.saturating_add(999),
        keep: Ratio::of(9, 10),
    };
}

impl Default for AimdConcurrencyConfig {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// A concurrency limit that grows by one after as many successes as it allows calls, and is cut by
/// a factor when the server pushes back or a call fails.
///
/// It is for servers that queue (databases, a fixed number of workers), where the number of waiting
/// calls matters, not the number of calls per second. "Go: Rate-limiting (done right)"
/// (joaodlf.com, 2017) recommends such a dynamic limit. The arithmetic is TCP's congestion
/// avoidance, with the factor of Netflix' AIMD limit. The limit grows only if calls waited for it.
///
/// ```
/// use tidegate::{ConfigError, law::{AimdConcurrency, AimdConcurrencyConfig}};
/// use tidegate::Ratio;
///
/// assert!(AimdConcurrency::new(AimdConcurrencyConfig::DEFAULT).is_ok());
/// let never = AimdConcurrencyConfig { keep: Ratio::ONE, ..AimdConcurrencyConfig::DEFAULT };
/// assert_eq!(AimdConcurrency::new(never), Err(ConfigError::AimdConcurrencyKeep));
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct AimdConcurrency {
    config: AimdConcurrencyConfig,
}

/// The state of [`AimdConcurrency`]: its limit, and the successes since it last changed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct AimdConcurrencyState {
    concurrency: NonZeroU16,
    successes: u16,
}

impl AimdConcurrency {
    /// The law of [`AimdConcurrencyConfig::DEFAULT`].
    pub const DEFAULT: Self = Self { config: AimdConcurrencyConfig::DEFAULT };

    /// The law with this configuration.
    ///
    /// # Errors
    /// [`ConfigError`] names what is wrong.
    pub const fn new(config: AimdConcurrencyConfig) -> Result<Self, ConfigError> {
        if !config.keep.is_below_one() {
            return Err(ConfigError::AimdConcurrencyKeep);
        }
        if config.start.get() > config.most.get() {
            return Err(ConfigError::AimdConcurrencyStart);
        }
        Ok(Self { config })
    }
}

impl Default for AimdConcurrency {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Law for AimdConcurrency {
    type State = AimdConcurrencyState;

    fn start(&self, _: Instant) -> AimdConcurrencyState {
        AimdConcurrencyState { concurrency: self.config.start, successes: 0 }
    }

    #[inline(always)]
    fn pace(&self, state: &AimdConcurrencyState, _: Instant, _: u16, _: bool) -> Pace {
        Pace { concurrency: Some(state.concurrency), ..Pace::UNLIMITED }
    }

    fn observe(
        &self,
        state: &mut AimdConcurrencyState,
        _: &mut Pacing,
        sample: &Sample<'_>,
        _: &mut Rng,
    ) -> Move {
        if !sample.fresh {
            return Move::Kept;
        }
        if sample.outcome != Outcome::Ok {
            let kept = self.config.keep.floor_of(u64::from(state.concurrency.get()));
            let kept = u16::try_from(kept).ok().and_then(NonZeroU16::new);
            state.concurrency = kept.unwrap_or(NonZeroU16::MIN);
            state.successes = 0;
            return Move::Slower;
        }
        if !sample.rate_limited || state.concurrency >= self.config.most {
            return Move::Kept;
        }
        state.successes = state.successes.saturating_add(1);
        if state.successes < state.concurrency.get() {
            return Move::Kept;
        }
        state.successes = 0;
        state.concurrency = state.concurrency.saturating_add(1);
        Move::Faster
    }
}

fields!(AimdConcurrencyState { concurrency: NonZeroU16, successes: u16 });
record!(AimdConcurrency, AimdConcurrencyState where |law, state| state.concurrency <= law.config.most);
