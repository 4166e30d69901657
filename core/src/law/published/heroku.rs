//! `heroku-gradual`, `heroku-proportional`, `heroku-remaining`: a sleep that grows when a call is throttled and shrinks in proportion.

use core::num::{NonZeroU32, NonZeroU64};

use crate::config_error::ConfigError;
use crate::fixed::{Ratio, exp_neg_q32};
use crate::gate::Pacing;
use crate::law::record::record;
use crate::law::{Law, Move, Pace, Sample};
use crate::outcome::Outcome;
use crate::rng::Rng;
use crate::snapshot::fields;
use crate::time::{Instant, Span};

/// How a success shortens the sleep: four of the source's five strategies. (The fifth, `Null`, does
/// nothing, which is [`Fixed::UNLIMITED`](crate::law::Fixed::UNLIMITED) without a backoff.)
///
/// ```
/// use tidegate::law::published::{Heroku, HerokuConfig, Strategy};
/// use tidegate::{Policy, Span};
///
/// let gradual = HerokuConfig::gem(Strategy::Gradual(Span::from_millis(800)));
/// let policy = Policy::new(Heroku::new(gradual).unwrap());
/// # let _ = policy;
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Strategy {
    /// `ExponentialBackoff`: to zero. Each call starts again.
    Exponential,
    /// `ExponentialIncreaseGradualDecrease`: by this much.
    Gradual(Span),
    /// `ExponentialIncreaseProportionalDecrease`: by the sleep divided by the divisor.
    Proportional,
    /// `ExponentialIncreaseProportionalRemainingDecrease`: by the sleep times the reported
    /// remaining calls, divided by the divisor. Without a report, the sleep stays.
    Remaining,
}

/// The configuration of [`Heroku`]. Start from [`gem`](Self::gem) or [`DEMO`](Self::DEMO).
///
/// ```
/// use tidegate::{Ratio, law::published::{Heroku, HerokuConfig}};
///
/// let exact = HerokuConfig { jitter: Ratio::ZERO, ..HerokuConfig::DEMO };
/// assert!(Heroku::new(exact).is_ok());
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct HerokuConfig {
    /// How a success shortens the sleep.
    pub strategy: Strategy,
    /// The initial sleep.
    pub start: Span,
    /// The time that a throttled call adds to the sleep ...
    pub add: Span,
    /// ... before it multiplies it by this; at least 1.
    pub times: Ratio,
    /// The shortest sleep that a success leaves.
    pub floor: Span,
    /// The limit that the source assumes, in calls an hour.
    pub divisor: NonZeroU32,
    /// Jitter adds up to this share of the sleep.
    pub jitter: Ratio,
    /// "Don't double on the first 429": the first throttled call of a run keeps the sleep, and
    /// tries it once more.
    pub spare_first: bool,
    /// "Don't double dip": of calls that were in flight together, only one raises the sleep.
    pub once_per_event: bool,
    /// "Make flappy clients slower": the decrease is divided by `1 / (1 - e^(-t / calm))`, where t
    /// is the time since the sleep last grew. `None` disables this.
    pub calm: Option<Span>,
}

impl HerokuConfig {
    /// The released gem `rate_throttle_client` 0.1.2: 0.8 s more and then a fifth more for each
    /// throttled call, with a jitter of up to a tenth.
    #[must_use]
    pub const fn gem(strategy: Strategy) -> Self {
        Self {
            strategy,
            start: Span::ZERO,
            add: Span::from_millis(800),
            times: Ratio::of(6, 5),
            floor: Span::ZERO,
            divisor: FORTY_FIVE_HUNDRED,
            jitter: Ratio::of(1, 10),
            spare_first: false,
            once_per_event: false,
            calm: None,
        }
    }

    /// The demonstration that preceded the gem, as its README describes it: doubling, with all
    /// three of its ideas, and never below 80 ms.
    pub const DEMO: Self = Self {
        start: Span::from_millis(1_600),
        add: Span::ZERO,
        times: Ratio::of(2, 1),
        floor: Span::from_millis(80),
        spare_first: true,
        once_per_event: true,
        calm: Some(Span::from_secs(3_600)),
        ..Self::gem(Strategy::Remaining)
    };
}

const FORTY_FIVE_HUNDRED: NonZeroU32 = NonZeroU32::MIN.saturating_add(4_499);

impl Default for HerokuConfig {
    fn default() -> Self {
        Self::gem(Strategy::Remaining)
    }
}

/// The Heroku client's throttle: a sleep before each call, longer after a throttled call, and after
/// a success shorter in proportion to the sleep and to the server's remaining calls.
///
/// Source: schneems/rate-limit-gcra-client-demo (2019) and the gem zombocom/rate_throttle_client
/// 0.1.2 (2020). In the source each thread sleeps independently. To compare with its figures, use a
/// controller per thread. If threads share one, the sleep is the time from one response to the next
/// call, and the fleet starts more slowly.
///
/// Its constants are for one limit, 4500 calls an hour. As in the source, after a run of throttled
/// calls the sleep is a fifth longer than the one that worked, and it is unbounded. With more
/// remaining calls than the divisor it falls to zero at once. Every success shortens it, whether or
/// not its call had to wait.
///
/// ```
/// use tidegate::{ConfigError, law::published::{Heroku, HerokuConfig, Strategy}};
/// use tidegate::{Ratio, Span};
///
/// let gem = HerokuConfig::gem(Strategy::Remaining);
/// assert!(Heroku::new(gem).is_ok());
/// let stuck = HerokuConfig { add: Span::ZERO, ..gem };
/// assert_eq!(Heroku::new(stuck), Err(ConfigError::HerokuStart));
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Heroku {
    config: HerokuConfig,
}

/// The state of [`Heroku`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct HerokuState {
    sleep: Span,
    /// Throttled calls since the latest success.
    run: u16,
    /// When the sleep last grew.
    raised: Instant,
    /// When a throttled call last counted, whether it raised the sleep or was spared.
    throttled: Instant,
}

impl HerokuState {
    /// The current sleep, before jitter.
    #[must_use]
    pub const fn sleep(&self) -> Span {
        self.sleep
    }
}

impl Heroku {
    /// The gem's law with its final strategy.
    pub const DEFAULT: Self = Self::gem(Strategy::Remaining);

    /// The law of [`HerokuConfig::gem`].
    #[must_use]
    pub const fn gem(strategy: Strategy) -> Self {
        Self { config: HerokuConfig::gem(strategy) }
    }

    /// The law with this configuration.
    ///
    /// # Errors
    /// [`ConfigError`] names what is wrong.
    pub const fn new(config: HerokuConfig) -> Result<Self, ConfigError> {
        let grows = config.add.as_nanos() > 0;
        let starts = config.start.as_nanos() > 0 && config.floor.as_nanos() > 0;
        if config.times.is_below_one() {
            return Err(ConfigError::HerokuTimes);
        }
        // Each call of this strategy starts at `add`, regardless of the configured start.
        let begins_anew = matches!(config.strategy, Strategy::Exponential);
        if !grows && (begins_anew || !starts) {
            return Err(ConfigError::HerokuStart);
        }
        if let Some(calm) = config.calm
            && calm.as_nanos() == 0
        {
            return Err(ConfigError::HerokuCalm);
        }
        Ok(Self { config })
    }

    /// Handles a throttled call. Returns the sleep before the next attempt.
    fn throttled(&self, state: &mut HerokuState, sample: &Sample<'_>) -> (Span, Move) {
        if self.config.once_per_event && !sample.fresh {
            return (state.sleep, Move::Kept);
        }
        let first = state.run == 0;
        // The source counts the throttled attempts of one call. Calls that share the controller are
        // served in between, so a call that was throttled before is not spared again. If the caller
        // does not report attempts, a run of throttled calls is spared once, together with the
        // calls in flight with its first.
        let together = self.config.once_per_event && sample.sent < state.throttled;
        let spared = self.config.spare_first && sample.attempt == 0 && (first || together);
        state.throttled = sample.now;
        state.run = state.run.saturating_add(1);
        if spared {
            return (state.sleep, Move::Kept);
        }
        state.raised = sample.now;
        let more = state.sleep + self.config.add;
        let times = Span::from_nanos(self.config.times.floor_of(more.as_nanos()));
        let now = match self.config.strategy {
            // The first delay is the shortest sleep, regardless of what an earlier call reached. If
            // the first throttled call was spared, the second one uses it.
            Strategy::Exponential if first || state.sleep == Span::ZERO => self.config.add,
            Strategy::Exponential => {
                Span::from_nanos(self.config.times.floor_of(state.sleep.as_nanos()))
            }
            // After sparing the first, the demonstration doubles and then sleeps ...
            _ if self.config.spare_first => times,
            // ... while the gem sleeps and then multiplies.
            _ => more,
        };
        state.sleep = if let Strategy::Exponential = self.config.strategy { now } else { times };
        (now, Move::Slower)
    }

    fn served(&self, state: &mut HerokuState, sample: &Sample<'_>) -> Move {
        state.run = 0;
        let sleep = state.sleep.as_nanos();
        let divisor = self.config.divisor;
        let less = match self.config.strategy {
            Strategy::Exponential => sleep,
            Strategy::Gradual(step) => step.as_nanos(),
            Strategy::Proportional => sleep / NonZeroU64::from(divisor),
            Strategy::Remaining => match sample.hint.remaining {
                // More than 2^32 remaining calls exceed any divisor.
                Some(left) => u32::try_from(left)
                    .map_or(sleep, |left| Ratio::over(left, divisor).floor_of(sleep)),
                None => 0,
            },
        };
        let less = match self.config.calm {
            // less * (1 - e^(-t / calm)): the source divides by the inverse.
            Some(calm) => calmed(less, sample.now - state.raised, calm),
            None => less,
        };
        let shorter = sleep.saturating_sub(less).max(self.config.floor.as_nanos().min(sleep));
        state.sleep = Span::from_nanos(shorter);
        if shorter < sleep { Move::Faster } else { Move::Kept }
    }
}

/// `less * (1 - e^(-since / calm))`, rounded down.
fn calmed(less: u64, since: Span, calm: Span) -> u64 {
    let grown = (1u64 << 32).saturating_sub(exp_neg_q32(since.as_nanos(), calm.as_nanos()));
    let high = (less >> 32).saturating_mul(grown);
    let low = (less & 0xFFFF_FFFF).saturating_mul(grown) >> 32;
    high.saturating_add(low)
}

impl Default for Heroku {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Law for Heroku {
    type State = HerokuState;

    fn start(&self, now: Instant) -> HerokuState {
        HerokuState { sleep: self.config.start, run: 0, raised: now, throttled: now }
    }

    /// The law delays the pacing itself.
    #[inline(always)]
    fn pace(&self, _: &HerokuState, _: Instant, _: u16, _: bool) -> Pace {
        Pace::UNLIMITED
    }

    fn interval(&self, state: &HerokuState, _: Instant, _: Option<u32>) -> Option<Span> {
        (state.sleep > Span::ZERO).then_some(state.sleep)
    }

    fn observe(
        &self,
        state: &mut HerokuState,
        pacing: &mut Pacing,
        sample: &Sample<'_>,
        rng: &mut Rng,
    ) -> Move {
        let (sleep, moved) = match sample.outcome {
            Outcome::Ok => {
                let moved = self.served(state, sample);
                (state.sleep, moved)
            }
            outcome if outcome.is_pushback() => self.throttled(state, sample),
            // The source only handles 429.
            _ => (state.sleep, Move::Kept),
        };
        let most = Span::from_nanos(self.config.jitter.floor_of(sleep.as_nanos()));
        pacing.delay(sample.now, rng.between(sleep, sleep + most));
        moved
    }
}

fields!(HerokuState { sleep: Span, run: u16, raised: Instant, throttled: Instant });
record!(Heroku, HerokuState);
