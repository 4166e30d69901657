//! `autosleeper`: a delay that scales up on failure and down on success.

use crate::config_error::ConfigError;
use crate::fixed::Ratio;
use crate::gate::Pacing;
use crate::law::record::record;
use crate::law::{Law, Move, Pace, Sample};
use crate::outcome::Outcome;
use crate::rng::Rng;
use crate::snapshot::fields;
use crate::time::{Instant, Span};

/// The configuration of [`Autosleeper`]. Start from [`AutosleeperConfig::DEFAULT`].
///
/// ```
/// use tidegate::law::{Law, Sample, published::{Autosleeper, AutosleeperConfig}};
/// use tidegate::{Instant, Outcome, Ratio, Rng, Span, gate::Pacing};
///
/// // A vector of the source's own test: 10 us, a tenth more on each failure.
/// let law = Autosleeper::new(AutosleeperConfig {
///     initial: Span::from_micros(10),
///     up: Ratio::new(11, 10).unwrap(),
///     spread: Ratio::ZERO,
///     ..AutosleeperConfig::DEFAULT
/// });
/// let (law, now) = (law.unwrap(), Instant::ZERO);
/// let (mut state, mut pacing, mut rng) = (law.start(now), Pacing::new(now), Rng::new(1));
/// use Outcome::{Failed, Ok};
/// let delays = [Ok, Failed, Ok, Failed, Failed].map(|outcome| {
///     law.observe(&mut state, &mut pacing, &Sample::new(now, now, outcome), &mut rng);
///     state.delay().as_nanos()
/// });
/// assert_eq!(delays, [0, 10_000, 10_000, 11_000, 12_100]);
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct AutosleeperConfig {
    /// The delay after the first failure; a step down below it ends the delay.
    pub initial: Span,
    /// The longest delay.
    pub most: Span,
    /// The factor by which a failure multiplies the delay; at least 1.
    pub up: Ratio,
    /// The factor by which a step down multiplies the delay, at most 1 ...
    pub down: Ratio,
    /// ... after this many successes.
    pub threshold: u16,
    /// Jitter adds or subtracts up to this share of the delay, at most all of it ...
    pub spread: Ratio,
    /// ... but never more than this.
    pub most_spread: Span,
}

impl AutosleeperConfig {
    /// The source's defaults: 500 ms to 15 min, a factor of 1.5 on each failure and 0.9 after ten
    /// successes, and a jitter of ±30 % but at most two minutes.
    pub const DEFAULT: Self = Self {
        initial: Span::from_millis(500),
        most: Span::from_secs(900),
        up: Ratio::of(3, 2),
        down: Ratio::of(9, 10),
        threshold: 10,
        spread: Ratio::of(3, 10),
        most_spread: Span::from_secs(120),
    };
}

impl Default for AutosleeperConfig {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Responsive exponential backoff: the delay between calls grows by a factor on each failure and
/// shrinks by another after a number of successes.
///
/// Source: `AutoSleeper` in sakthipriyan/go-utils (`sleeper.go`, 2022) and its article "Autosleeper exponential backoff
/// in Go". The law reproduces the article's graph and the source's deterministic test vectors to the digit.
///
/// It counts calls, not costs, and it needs failures: in equilibrium some calls fail. Recovery from
/// the longest delay takes hundreds of successes, about a day. As in the source:
///
/// - A failure does not reset the count of successes: after 9 successes and a failure, one more
///   success lowers the delay. With a threshold of zero, the delay never falls.
/// - Jitter is part of the delay that the next step multiplies, so a step "down" may increase the
///   delay, and may exceed the longest delay. The first and the longest delay have no jitter.
/// - Nothing changes with time: after a day of silence the delay is the same.
/// - The delay starts at the response. In the source each worker sleeps independently. To compare
///   with its figures, use a controller per worker.
/// - Each failure raises the delay, even if its call was sent before the previous raise. Each
///   success counts, even if its call did not have to wait.
///
/// ```
/// use tidegate::law::{Law, Sample, published::{Autosleeper, AutosleeperConfig}};
/// use tidegate::{Instant, Outcome, Ratio, Rng, gate::Pacing};
///
/// let config = AutosleeperConfig { spread: Ratio::ZERO, ..AutosleeperConfig::DEFAULT };
/// let (law, now) = (Autosleeper::new(config).unwrap(), Instant::ZERO);
/// let (mut state, mut pacing, mut rng) = (law.start(now), Pacing::new(now), Rng::new(1));
/// // A failure, nine successes, a failure and one more success.
/// let delays = ["f", ".........", "f", "."].map(|answers| {
///     for answer in answers.chars() {
///         let outcome = if answer == 'f' { Outcome::Failed } else { Outcome::Ok };
///         law.observe(&mut state, &mut pacing, &Sample::new(now, now, outcome), &mut rng);
///     }
///     state.delay().as_millis()
/// });
/// assert_eq!(delays, [500, 500, 750, 675]);
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Autosleeper {
    config: AutosleeperConfig,
}

/// The state of [`Autosleeper`].
///
/// ```
/// use tidegate::law::published::Autosleeper;
/// use tidegate::{Controller, Instant, Policy, Span};
///
/// let gate: Controller<Autosleeper> =
///     Controller::new(Policy::new(Autosleeper::DEFAULT), 7, Instant::ZERO);
/// assert_eq!(gate.states().next().unwrap().delay(), Span::ZERO);
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct AutosleeperState {
    delay: Span,
    successes: u16,
}

impl AutosleeperState {
    /// The current delay after a response. Zero if calls are not delayed.
    #[must_use]
    pub const fn delay(&self) -> Span {
        self.delay
    }
}

impl Autosleeper {
    /// The law of [`AutosleeperConfig::DEFAULT`].
    pub const DEFAULT: Self = Self { config: AutosleeperConfig::DEFAULT };

    /// The law with this configuration.
    ///
    /// # Errors
    /// [`ConfigError`] names what is wrong. A threshold of zero and an initial delay above the
    /// longest are valid, as in the source.
    pub const fn new(config: AutosleeperConfig) -> Result<Self, ConfigError> {
        if config.initial.as_nanos() == 0 {
            return Err(ConfigError::AutosleeperInitial);
        }
        if config.up.is_below_one() {
            return Err(ConfigError::AutosleeperUp);
        }
        if config.down.exceeds_one() {
            return Err(ConfigError::AutosleeperDown);
        }
        if config.spread.exceeds_one() {
            return Err(ConfigError::AutosleeperSpread);
        }
        Ok(Self { config })
    }

    /// The delay times a factor, rounded down as in the source, with jitter.
    fn scaled(&self, delay: Span, factor: Ratio, rng: &mut Rng) -> Span {
        let delay = Span::from_nanos(factor.floor_of(delay.as_nanos()));
        if self.config.spread == Ratio::ZERO {
            return delay;
        }
        let reach = Span::from_nanos(self.config.spread.floor_of(delay.as_nanos()));
        let reach = reach.min(self.config.most_spread);
        rng.between(delay - reach, delay + reach)
    }

    fn failed(&self, state: &mut AutosleeperState, rng: &mut Rng) -> Move {
        state.delay = if state.delay == Span::ZERO {
            self.config.initial
        } else {
            self.scaled(state.delay, self.config.up, rng).min(self.config.most)
        };
        Move::Slower
    }

    fn served(&self, state: &mut AutosleeperState, rng: &mut Rng) -> Move {
        if state.delay == Span::ZERO {
            return Move::Kept;
        }
        state.successes = state.successes.saturating_add(1);
        if state.successes != self.config.threshold {
            return Move::Kept;
        }
        state.successes = 0;
        let lower = self.scaled(state.delay, self.config.down, rng);
        // A step down below the initial delay ends the delay.
        state.delay = if lower < self.config.initial { Span::ZERO } else { lower };
        Move::Faster
    }
}

impl Default for Autosleeper {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Law for Autosleeper {
    type State = AutosleeperState;

    fn start(&self, _: Instant) -> AutosleeperState {
        AutosleeperState { delay: Span::ZERO, successes: 0 }
    }

    /// The law delays the pacing itself.
    #[inline(always)]
    fn pace(&self, _: &AutosleeperState, _: Instant, _: u16, _: bool) -> Pace {
        Pace::UNLIMITED
    }

    fn interval(&self, state: &AutosleeperState, _: Instant, _: Option<u32>) -> Option<Span> {
        (state.delay > Span::ZERO).then_some(state.delay)
    }

    fn observe(
        &self,
        state: &mut AutosleeperState,
        pacing: &mut Pacing,
        sample: &Sample<'_>,
        rng: &mut Rng,
    ) -> Move {
        let moved = match sample.outcome {
            Outcome::Ok => self.served(state, rng),
            _ => self.failed(state, rng),
        };
        pacing.delay(sample.now, state.delay);
        moved
    }
}

fields!(AutosleeperState { delay: Span, successes: u16 });
record!(Autosleeper, AutosleeperState);
