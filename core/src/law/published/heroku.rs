//! `heroku-gradual`, `heroku-proportional`, `heroku-remaining`: a sleep that grows when a call is throttled and shrinks in proportion.

use core::num::{NonZeroU32, NonZeroU64};

use crate::config_error::ConfigError;
use crate::fixed::{Ratio, exp_neg_q32};
use crate::gate::Pacing;
use crate::law::{Law, Move, Sample};
use crate::outcome::Outcome;
use crate::rate::Quota;
use crate::rng::Rng;
use crate::snapshot::{fields, record};
use crate::time::{Instant, Span};

/// How a success shortens the sleep: four of the source's five strategies. (The fifth, `Null`, does
/// nothing, which is [`Fixed::UNLIMITED`](crate::law::Fixed::UNLIMITED) without a backoff.)
///
/// ```
/// use tidegate::law::{Law, Heroku, HerokuConfig, Sample, Strategy};
/// use tidegate::{Hint, Instant, Outcome, Rng, Span, gate::Pacing};
///
/// // What a success makes of a sleep of 4.5 s, in milliseconds.
/// let after = |strategy, hint| {
///     let start = Span::from_millis(4_500);
///     let config = HerokuConfig { start, ..HerokuConfig::gem(strategy) };
///     let law = Heroku::new(config).unwrap();
///     let now = Instant::ZERO;
///     let (mut state, mut pacing) = (law.start(now), Pacing::new(now));
///     let mut served = Sample::new(now, now, Outcome::Ok);
///     served.hint = &hint;
///     law.observe(&mut state, &mut pacing, &served, &mut Rng::new(1));
///     state.sleep().as_millis()
/// };
/// assert_eq!(after(Strategy::Exponential, Hint::NONE), 0);
/// assert_eq!(after(Strategy::Gradual(Span::from_millis(800)), Hint::NONE), 3_700);
/// assert_eq!(after(Strategy::Proportional, Hint::NONE), 4_499);
/// // With half of the divisor's 4500 calls left the sleep halves; untold, it stays.
/// assert_eq!(after(Strategy::Remaining, Hint::remaining(2_250)), 2_250);
/// assert_eq!(after(Strategy::Remaining, Hint::NONE), 4_500);
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
/// use tidegate::law::{Law, Heroku, HerokuConfig, Sample, Strategy};
/// use tidegate::{Instant, Outcome, Ratio, Rng, Span, gate::Pacing};
///
/// // How long a first throttled call keeps the next call back, and the sleep that it leaves.
/// let throttled = |config| {
///     let law = Heroku::new(HerokuConfig { jitter: Ratio::ZERO, ..config }).unwrap();
///     let now = Instant::ZERO;
///     let (mut state, mut pacing) = (law.start(now), Pacing::new(now));
///     let throttled = Sample::new(now, now, Outcome::Throttled);
///     law.observe(&mut state, &mut pacing, &throttled, &mut Rng::new(1));
///     let until = pacing.ready_at(1, None).unwrap();
///     ((until - now).as_millis(), state.sleep().as_millis())
/// };
/// // The gem sleeps before it multiplies: the sleep after next is the longer one.
/// assert_eq!(throttled(HerokuConfig::gem(Strategy::Remaining)), (800, 960));
/// // The demonstration spares the first throttled call, and sleeps as it would have.
/// assert_eq!(throttled(HerokuConfig::DEMO), (1_600, 1_600));
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
/// use tidegate::{ConfigError, law::{Heroku, HerokuConfig, Strategy}};
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
///
/// ```
/// use tidegate::law::{Law, Heroku, Sample};
/// use tidegate::{Hint, Instant, Outcome, Rng, gate::Pacing};
///
/// let (law, now) = (Heroku::DEFAULT, Instant::ZERO);
/// let (mut state, mut pacing, mut rng) = (law.start(now), Pacing::new(now), Rng::new(1));
/// let mut sample = Sample::new(now, now, Outcome::Throttled);
/// let sleeps = [(); 3].map(|()| {
///     law.observe(&mut state, &mut pacing, &sample, &mut rng);
///     state.sleep().as_millis()
/// });
/// assert_eq!(sleeps, [960, 2_112, 3_494]); // (sleep + 800) * 6 / 5
/// // One success with more calls left than the divisor, and the sleep is over.
/// let plenty = Hint::remaining(4_501);
/// sample.outcome = Outcome::Ok;
/// sample.hint = &plenty;
/// law.observe(&mut state, &mut pacing, &sample, &mut rng);
/// assert_eq!(state.sleep().as_millis(), 0);
/// ```
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

    /// `None`: the law delays the pacing itself.
    fn quota(&self, _: &HerokuState) -> Option<Quota> {
        None
    }

    fn interval(&self, state: &HerokuState, _: Instant) -> Option<Span> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hint::Hint;
    use std::vec::Vec;

    struct Thread {
        law: Heroku,
        state: HerokuState,
        now: Instant,
    }

    impl Thread {
        fn new(config: HerokuConfig) -> Self {
            let config = HerokuConfig { jitter: Ratio::ZERO, ..config };
            let law = Heroku::new(config).unwrap();
            Self { law, state: law.start(Instant::ZERO), now: Instant::ZERO }
        }

        /// Answers a call. Returns the milliseconds until the next one may be sent.
        fn see(&mut self, outcome: Outcome, remaining: Option<u64>) -> u64 {
            let mut pacing = Pacing::new(self.now);
            let hint = remaining.map_or(Hint::NONE, Hint::remaining);
            let sample = Sample { hint: &hint, ..Sample::new(self.now, self.now, outcome) };
            self.law.observe(&mut self.state, &mut pacing, &sample, &mut Rng::new(0));
            let next = pacing.ready_at(1, None).unwrap_or(self.now);
            let waited = next - self.now;
            self.now = next;
            waited.as_millis()
        }

        fn throttled(&mut self, times: usize) -> Vec<u64> {
            (0..times).map(|_| self.see(Outcome::Throttled, Some(0))).collect()
        }
    }

    #[test]
    fn a_sleep_that_stays_zero_or_shrinks_when_throttled_is_rejected() {
        let gem = HerokuConfig::gem;
        let (none, some) = (Span::ZERO, Span::from_millis(1));
        let stuck = Err(ConfigError::HerokuStart);
        for (config, expected) in [
            (HerokuConfig { add: none, ..gem(Strategy::Exponential) }, stuck),
            (
                HerokuConfig { add: none, start: none, floor: some, ..gem(Strategy::Proportional) },
                stuck,
            ),
            (
                HerokuConfig { add: none, start: some, floor: none, ..gem(Strategy::Proportional) },
                stuck,
            ),
            (
                HerokuConfig { add: none, start: some, floor: some, ..gem(Strategy::Proportional) },
                Ok(()),
            ),
            (HerokuConfig { add: some, start: none, ..gem(Strategy::Proportional) }, Ok(())),
            (
                HerokuConfig { calm: Some(none), ..gem(Strategy::Proportional) },
                Err(ConfigError::HerokuCalm),
            ),
            (
                HerokuConfig { times: Ratio::of(1, 2), ..gem(Strategy::Proportional) },
                Err(ConfigError::HerokuTimes),
            ),
        ] {
            assert_eq!(Heroku::new(config).map(|_| ()), expected, "{config:?}");
        }
    }

    #[test]
    fn the_rungs_of_a_cold_start_match_the_source() {
        // 0.8, 1.76, 2.912, 4.294, ... 16.64: the published longest sleep of 17.3 s is the ninth
        // rung with its jitter.
        let rungs = Thread::new(HerokuConfig::gem(Strategy::Remaining)).throttled(9);
        assert_eq!(rungs, [800, 1_760, 2_912, 4_294, 5_953, 7_943, 10_332, 13_199, 16_639]);
    }

    #[test]
    fn exponential_backoff_restarts_with_each_call() {
        let mut thread = Thread::new(HerokuConfig::gem(Strategy::Exponential));
        assert_eq!(thread.throttled(4), [800, 960, 1_152, 1_382]);
        assert_eq!(thread.see(Outcome::Ok, None), 0);
        assert_eq!(thread.throttled(2), [800, 960]);
    }

    #[test]
    fn a_success_shortens_the_sleep_by_its_strategy() {
        // After one throttled call the sleep is 0.8 s times 1.2.
        for (strategy, remaining, expected) in [
            (Strategy::Gradual(Span::from_millis(800)), None, 160),
            (Strategy::Proportional, None, 959), // 960 - 960 / 4500
            (Strategy::Remaining, Some(450), 864),
            (Strategy::Remaining, Some(4_500), 0),
            (Strategy::Remaining, Some(u64::MAX), 0),
            (Strategy::Remaining, Some(0), 960),
            (Strategy::Remaining, None, 960),
        ] {
            let mut thread = Thread::new(HerokuConfig::gem(strategy));
            thread.throttled(1);
            assert_eq!(thread.see(Outcome::Ok, remaining), expected, "{strategy:?} {remaining:?}");
        }
    }

    #[test]
    fn the_demonstration_spares_the_first_throttled_call_and_then_doubles() {
        let mut thread = Thread::new(HerokuConfig::DEMO);
        assert_eq!(thread.throttled(4), [1_600, 3_200, 6_400, 12_800]);
        thread.see(Outcome::Ok, Some(0));
        assert_eq!(thread.throttled(1), [12_800]);
    }

    #[test]
    fn exponential_backoff_grows_from_its_first_rung_if_the_first_throttled_call_is_spared() {
        let gem = HerokuConfig::gem(Strategy::Exponential);
        let mut thread = Thread::new(HerokuConfig { spare_first: true, ..gem });
        assert_eq!(thread.throttled(4), [0, 800, 960, 1_152]);
        // It has no other rung to start at.
        let stuck = HerokuConfig { strategy: Strategy::Exponential, ..HerokuConfig::DEMO };
        assert_eq!(Heroku::new(stuck), Err(ConfigError::HerokuStart));
    }

    #[test]
    fn calls_in_flight_with_a_spared_throttled_call_are_also_spared() {
        let law = Heroku::new(HerokuConfig::DEMO).unwrap();
        let (sent, mut now) = (Instant::ZERO, Instant::from_nanos(1_000));
        let mut state = law.start(sent);
        let mut see = |sample: Sample| {
            let mut pacing = Pacing::new(sample.now);
            law.observe(&mut state, &mut pacing, &sample, &mut Rng::new(0));
            state.sleep().as_millis()
        };
        for _ in 0..5 {
            assert_eq!(see(Sample::new(now, sent, Outcome::Throttled)), 1_600);
            now += Span::from_nanos(1);
        }
        assert_eq!(see(Sample::new(now, now, Outcome::Throttled)), 3_200);
    }

    #[test]
    fn a_call_that_is_throttled_twice_raises_the_sleep_even_if_others_were_served_in_between() {
        let law = Heroku::new(HerokuConfig::DEMO).unwrap();
        let at = |nanos| Instant::from_nanos(nanos);
        let mut state = law.start(at(0));
        let mut see = |sample: Sample| {
            let mut pacing = Pacing::new(sample.now);
            law.observe(&mut state, &mut pacing, &sample, &mut Rng::new(0));
            state.sleep().as_millis()
        };
        assert_eq!(see(Sample::new(at(1), at(0), Outcome::Throttled)), 1_600);
        assert_eq!(see(Sample::new(at(3), at(2), Outcome::Ok)), 1_600);
        // Another call's first throttled attempt is spared, but not the second one of the first
        // call.
        assert_eq!(see(Sample::new(at(4), at(2), Outcome::Throttled)), 1_600);
        let again = Sample { attempt: 1, ..Sample::new(at(5), at(2), Outcome::Throttled) };
        assert_eq!(see(again), 3_200);
    }

    #[test]
    fn the_sleep_of_the_demonstration_stays_after_it_grew_and_finally_falls_to_80_ms() {
        let mut thread = Thread::new(HerokuConfig::DEMO);
        // A calm day before the sleep grew does not count.
        thread.now += Span::from_secs(86_400);
        assert_eq!(thread.throttled(2), [1_600, 3_200]);
        assert!(thread.see(Outcome::Ok, Some(4_500)) >= 3_190);
        let mut last = 0;
        for _ in 0..20 {
            thread.now += Span::from_secs(86_400);
            last = thread.see(Outcome::Ok, Some(4_500));
        }
        assert_eq!(last, 80);
    }

    #[test]
    fn jitter_adds_up_to_a_tenth_of_the_gems_sleep() {
        let law = Heroku::DEFAULT;
        let waits = (0..500).map(|seed| {
            let (mut state, mut pacing) = (law.start(Instant::ZERO), Pacing::new(Instant::ZERO));
            let throttled = Sample::new(Instant::ZERO, Instant::ZERO, Outcome::Throttled);
            law.observe(&mut state, &mut pacing, &throttled, &mut Rng::new(seed));
            (pacing.ready_at(1, None).unwrap() - Instant::ZERO).as_millis()
        });
        assert!((800..805).contains(&waits.clone().min().unwrap()));
        assert!((875..=880).contains(&waits.max().unwrap()));
    }

    #[test]
    fn flappy_clients_recover_more_slowly_by_the_documented_factor() {
        // Thirty seconds after the latest raise the factor is 120.5, an hour after it 1.58.
        for (seconds, factor_of_1000) in [(30, 120_501), (3_600, 1_582)] {
            let since = Span::from_secs(seconds);
            let less = calmed(1_000_000_000_000, since, Span::from_secs(3_600));
            let expected = 1_000_000_000_000_000 / factor_of_1000;
            assert!(less.abs_diff(expected) <= expected / 1_000, "{seconds} s: {less}");
        }
    }

    #[test]
    fn of_calls_in_flight_together_one_raises_the_sleep() {
        let mut thread = Thread::new(HerokuConfig { spare_first: false, ..HerokuConfig::DEMO });
        let late =
            Sample { fresh: false, ..Sample::new(thread.now, thread.now, Outcome::Throttled) };
        let before = thread.state;
        let mut pacing = Pacing::new(thread.now);
        let moved = thread.law.observe(&mut thread.state, &mut pacing, &late, &mut Rng::new(0));
        assert_eq!((moved, thread.state), (Move::Kept, before));
    }
}
