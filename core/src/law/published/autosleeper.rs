//! `autosleeper`: a delay that scales up on failure and down on success.

use crate::fixed::Ratio;
use crate::gate::Pacing;
use crate::law::{Law, Move, Sample};
use crate::outcome::Outcome;
use crate::rate::Quota;
use crate::rng::Rng;
use crate::snapshot::{fields, record};
use crate::time::{Instant, Span};

/// Whether [`Autosleeper`] reproduces the defects of its source.
///
/// | defect of the source | [`Mended`](Self::Mended) |
/// |---|---|
/// | A failure does not reset the success counter: after 9 successes and a failure, one more success lowers the delay. | A failure sets the counter to zero. |
/// | With a threshold of zero, the delay never falls. | It is an error. |
/// | The first and the longest delay have no jitter, so a fleet is synchronised at both. | Every delay is spread. |
/// | The first delay may exceed the maximum, and so may a step down with its jitter. | No delay exceeds the maximum. |
/// | Jitter is fed back: a step "down" increases the delay with a chance of 31.5 %. | Only the delay is spread, never the state. |
/// | Nothing decays with time: after a day of silence the delay is unchanged. | A silence counts as a step down if it is as long as one would have taken. |
/// | The delay starts at the response, in addition to the call's own duration, and separately in each worker. | The delay is the time from one call to the next, for all workers that share the controller. |
/// | Each failure of one congestion event raises the delay. | A call that was sent before the latest raise does not raise it again. |
/// | Successes of calls that never had to wait lower the delay. | Only calls that had to wait count. |
///
/// ```
/// use tidegate::law::{Law, Autosleeper, AutosleeperConfig, AutosleeperVariant, Sample};
/// use tidegate::{Instant, Outcome, Ratio, Rng, gate::Pacing};
///
/// // The first row of the table: 9 successes, a failure and one more success, without the jitter.
/// let delay = |variant| {
///     let config = AutosleeperConfig { variant, spread: Ratio::ZERO, ..AutosleeperConfig::DEFAULT };
///     let (law, now) = (Autosleeper::new(config).unwrap(), Instant::ZERO);
///     let (mut state, mut pacing, mut rng) = (law.start(now), Pacing::new(now), Rng::new(1));
///     for answer in "f.........f.".chars() {
///         let outcome = if answer == 'f' { Outcome::Failed } else { Outcome::Ok };
///         law.observe(&mut state, &mut pacing, &Sample::new(now, now, outcome), &mut rng);
///     }
///     state.delay().as_millis()
/// };
/// assert_eq!(delay(AutosleeperVariant::Faithful), 675); // down from 750 at once
/// assert_eq!(delay(AutosleeperVariant::Mended), 750);
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum AutosleeperVariant {
    /// The source's behaviour, for comparison.
    Faithful,
    /// The source's idea without its defects.
    Mended,
}

/// The configuration of [`Autosleeper`]. Start from [`AutosleeperConfig::DEFAULT`].
///
/// ```
/// use tidegate::law::{Law, Autosleeper, AutosleeperConfig, AutosleeperVariant, Sample};
/// use tidegate::{Instant, Outcome, Ratio, Rng, Span, gate::Pacing};
///
/// // A vector of the source's own test: 10 us, a tenth more on each failure.
/// let law = Autosleeper::new(AutosleeperConfig {
///     initial: Span::from_micros(10),
///     up: Ratio::new(11, 10).unwrap(),
///     spread: Ratio::ZERO,
///     variant: AutosleeperVariant::Faithful,
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
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
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
    /// Whether the defects of the source are kept or corrected.
    pub variant: AutosleeperVariant,
}

impl AutosleeperConfig {
    /// The source's defaults with the mended variant: 500 ms to 15 min, a factor of 1.5 on each
    /// failure and 0.9 after ten successes, and a jitter of ±30 % but at most two minutes.
    pub const DEFAULT: Self = Self {
        initial: Span::from_millis(500),
        most: Span::from_secs(900),
        up: Ratio::of(3, 2),
        down: Ratio::of(9, 10),
        threshold: 10,
        spread: Ratio::of(3, 10),
        most_spread: Span::from_secs(120),
        variant: AutosleeperVariant::Mended,
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
/// in Go". [`AutosleeperVariant::Faithful`] reproduces its published graph and its deterministic test vectors to the
/// digit; [`AutosleeperVariant::Mended`], the default, corrects the listed defects.
///
/// Both count calls, not costs, and both need failures: in equilibrium 2.5 % of calls fail with the
/// defaults. Recovery from the longest delay takes 720 successes, about a day.
///
/// ```
/// use tidegate::law::{Autosleeper, AutosleeperConfig, AutosleeperError, AutosleeperVariant};
/// use tidegate::Span;
///
/// let upstream = AutosleeperConfig { variant: AutosleeperVariant::Faithful, ..AutosleeperConfig::DEFAULT };
/// assert!(Autosleeper::new(upstream).is_ok());
/// let upside_down = AutosleeperConfig { most: Span::from_millis(1), ..AutosleeperConfig::DEFAULT };
/// assert_eq!(Autosleeper::new(upside_down), Err(AutosleeperError::InitialAboveMost));
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Autosleeper {
    config: AutosleeperConfig,
}

/// The state of [`Autosleeper`].
///
/// ```
/// use tidegate::law::Autosleeper;
/// use tidegate::{Call, Controller, Decision, Instant, Outcome, Policy, Span};
///
/// let mut gate: Controller<Autosleeper> =
///     Controller::new(Policy::new(Autosleeper::DEFAULT), 7, Instant::ZERO);
/// let delay = |gate: &Controller<Autosleeper>| gate.states().next().unwrap().delay();
/// let Decision::Admit(permit) = gate.poll(Instant::ZERO, &Call::new()) else { panic!() };
/// assert_eq!(delay(&gate), Span::ZERO);
/// gate.settle(Instant::ZERO, permit, Outcome::Failed);
/// assert_eq!(delay(&gate), Span::from_millis(500)); // the next wait is this, give or take 30 %
/// // A minute of silence is more than ten successes half a second apart: the delay is over.
/// let later = Instant::ZERO.saturating_add(Span::from_secs(60));
/// let Decision::Admit(_) = gate.poll(later, &Call::new()) else { panic!() };
/// assert_eq!(delay(&gate), Span::ZERO);
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct AutosleeperState {
    delay: Span,
    successes: u16,
    /// When the latest delay ended or will end, or a call completed. Silence since then lowers the
    /// delay.
    quiet_from: Instant,
}

impl AutosleeperState {
    /// The current delay between calls, before jitter. Zero if calls are not delayed.
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
    /// [`AutosleeperError`]. The faithful variant accepts a threshold of zero and an initial delay
    /// above the longest, like its source.
    pub const fn new(config: AutosleeperConfig) -> Result<Self, AutosleeperError> {
        let mended = matches!(config.variant, AutosleeperVariant::Mended);
        if config.initial.as_nanos() == 0 {
            return Err(AutosleeperError::ZeroInitial);
        }
        if config.up.is_below_one() {
            return Err(AutosleeperError::UpBelowOne);
        }
        if config.down.exceeds_one() {
            return Err(AutosleeperError::DownAboveOne);
        }
        if config.spread.exceeds_one() {
            return Err(AutosleeperError::SpreadAboveOne);
        }
        if mended && config.initial.as_nanos() > config.most.as_nanos() {
            return Err(AutosleeperError::InitialAboveMost);
        }
        if mended && config.threshold == 0 {
            return Err(AutosleeperError::ZeroThreshold);
        }
        Ok(Self { config })
    }

    const fn is_mended(&self) -> bool {
        matches!(self.config.variant, AutosleeperVariant::Mended)
    }

    /// Rounded down, like the source. The mended variant rounds up, so that a delay of one
    /// nanosecond grows.
    fn higher(&self, delay: Span) -> Span {
        match (delay, self.is_mended()) {
            (Span::ZERO, _) => self.config.initial,
            (_, true) => Span::from_nanos(self.config.up.ceil_of(delay.as_nanos())),
            (_, false) => Span::from_nanos(self.config.up.floor_of(delay.as_nanos())),
        }
    }

    fn lower(&self, delay: Span) -> Span {
        Span::from_nanos(self.config.down.floor_of(delay.as_nanos()))
    }

    /// A step down below the initial delay ends the delay.
    fn or_none(&self, delay: Span) -> Span {
        if delay < self.config.initial { Span::ZERO } else { delay }
    }

    /// The delay with jitter, limited to `most` before the draw. Capping afterwards would make half
    /// of a fleet wait for exactly the longest delay.
    fn spread(&self, delay: Span, most: Span, rng: &mut Rng) -> Span {
        if self.config.spread == Ratio::ZERO {
            return delay;
        }
        let reach = Span::from_nanos(self.config.spread.floor_of(delay.as_nanos()));
        let reach = reach.min(self.config.most_spread);
        rng.between(delay.saturating_sub(reach), delay.saturating_add(reach).min(most))
    }

    fn observe_faithfully(
        &self,
        state: &mut AutosleeperState,
        sample: &Sample<'_>,
        rng: &mut Rng,
    ) -> Move {
        if sample.outcome != Outcome::Ok {
            state.delay = if state.delay == Span::ZERO {
                self.config.initial
            } else {
                self.spread(self.higher(state.delay), Span::MAX, rng).min(self.config.most)
            };
            return Move::Slower;
        }
        if state.delay == Span::ZERO {
            return Move::Kept;
        }
        state.successes = state.successes.saturating_add(1);
        if state.successes != self.config.threshold {
            return Move::Kept;
        }
        state.successes = 0;
        state.delay = self.or_none(self.spread(self.lower(state.delay), Span::MAX, rng));
        Move::Faster
    }

    fn observe_mended(&self, state: &mut AutosleeperState, sample: &Sample<'_>) -> Move {
        if !sample.fresh {
            return Move::Kept;
        }
        if sample.outcome != Outcome::Ok {
            state.delay = self.higher(state.delay).min(self.config.most);
            state.successes = 0;
            return Move::Slower;
        }
        if state.delay == Span::ZERO || !sample.rate_limited {
            return Move::Kept;
        }
        state.successes = state.successes.saturating_add(1);
        if state.successes < self.config.threshold {
            return Move::Kept;
        }
        state.successes = 0;
        state.delay = self.or_none(self.lower(state.delay));
        Move::Faster
    }

    /// Delays the next call by the current delay. That time does not count as silence, and neither
    /// does the duration of a call: both would lower the delay of a client that only waits.
    fn delay(
        &self,
        state: &mut AutosleeperState,
        pacing: &mut Pacing,
        now: Instant,
        rng: &mut Rng,
    ) {
        let delay = self.spread(state.delay, self.config.most, rng);
        pacing.delay(now, delay);
        state.quiet_from = state.quiet_from.max(now.saturating_add(delay));
    }

    /// Lowers the delay once for each period of silence in which successes could have done so.
    fn decay(&self, state: &mut AutosleeperState, silence: Span) {
        let mut silence = silence;
        // Each step shortens the next period, so a ratio near one needs a bound. The default takes
        // 72 steps from the longest delay to none.
        for _ in 0..256 {
            let stretch = state.delay.saturating_mul(u64::from(self.config.threshold));
            if state.delay == Span::ZERO || silence < stretch {
                return;
            }
            silence = silence.saturating_sub(stretch);
            state.delay = self.or_none(self.lower(state.delay));
        }
    }
}

impl Default for Autosleeper {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Law for Autosleeper {
    type State = AutosleeperState;

    fn start(&self, now: Instant) -> AutosleeperState {
        AutosleeperState { delay: Span::ZERO, successes: 0, quiet_from: now }
    }

    /// Zero, like its source.
    fn lateness(&self) -> Span {
        Span::ZERO
    }

    /// `None`: the law delays the pacing itself.
    fn quota(&self, _: &AutosleeperState) -> Option<Quota> {
        None
    }

    fn interval(&self, state: &AutosleeperState, _: Instant) -> Option<Span> {
        (state.delay > Span::ZERO).then_some(state.delay)
    }

    fn released(
        &self,
        state: &mut AutosleeperState,
        pacing: &mut Pacing,
        now: Instant,
        _: u32,
        _: u16,
        rng: &mut Rng,
    ) {
        if !self.is_mended() {
            return;
        }
        self.decay(state, now.saturating_since(state.quiet_from));
        self.delay(state, pacing, now, rng);
    }

    fn refunded(
        &self,
        state: &mut AutosleeperState,
        pacing: &mut Pacing,
        now: Instant,
        _: u32,
        newest: bool,
    ) {
        if self.is_mended() && newest {
            pacing.end_cooldown();
            state.quiet_from = state.quiet_from.min(now);
        }
    }

    fn observe(
        &self,
        state: &mut AutosleeperState,
        pacing: &mut Pacing,
        sample: &Sample<'_>,
        rng: &mut Rng,
    ) -> Move {
        if !self.is_mended() {
            let moved = self.observe_faithfully(state, sample, rng);
            pacing.delay(sample.now, state.delay);
            return moved;
        }
        let moved = self.observe_mended(state, sample);
        if moved == Move::Slower {
            self.delay(state, pacing, sample.now, rng);
        }
        state.quiet_from = state.quiet_from.max(sample.now);
        moved
    }
}

/// An error in an [`AutosleeperConfig`].
///
/// ```
/// use tidegate::law::{Autosleeper, AutosleeperConfig, AutosleeperError as Wrong, AutosleeperVariant};
/// use tidegate::{Ratio, Span};
///
/// let config = AutosleeperConfig::DEFAULT;
/// let made = |config| Autosleeper::new(config).map(|_| ());
/// let percent = |part| Ratio::new(part, 100).unwrap();
/// let hour = Span::from_secs(3_600);
/// for (config, wrong) in [
///     (AutosleeperConfig { initial: Span::ZERO, ..config }, Wrong::ZeroInitial),
///     // Above the default's longest delay of 15 minutes.
///     (AutosleeperConfig { initial: hour, ..config }, Wrong::InitialAboveMost),
///     // "Half as much again" is 150 %, "a tenth less" is 90 %, and "± 30 %" is 30 %.
///     (AutosleeperConfig { up: percent(50), ..config }, Wrong::UpBelowOne),
///     (AutosleeperConfig { down: percent(110), ..config }, Wrong::DownAboveOne),
///     (AutosleeperConfig { spread: percent(130), ..config }, Wrong::SpreadAboveOne),
///     // "At every success" is a threshold of 1.
///     (AutosleeperConfig { threshold: 0, ..config }, Wrong::ZeroThreshold),
/// ] {
///     assert_eq!(made(config), Err(wrong));
/// }
/// // The source takes the last one, and then its delay never goes down.
/// let variant = AutosleeperVariant::Faithful;
/// assert_eq!(made(AutosleeperConfig { threshold: 0, variant, ..config }), Ok(()));
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum AutosleeperError {
    /// An initial delay of zero would stay zero forever.
    ZeroInitial,
    /// The initial delay is above the longest.
    InitialAboveMost,
    /// A factor below one would lower the delay on failure.
    UpBelowOne,
    /// A factor above one would raise the delay on success.
    DownAboveOne,
    /// With a threshold of zero the delay would never fall.
    ZeroThreshold,
    /// A jitter above one could make the delay negative.
    SpreadAboveOne,
}

impl core::fmt::Display for AutosleeperError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::ZeroInitial => "autosleeper: `initial` must be at least 1 ns",
            Self::InitialAboveMost => "autosleeper: `initial` must not be above `most`",
            Self::UpBelowOne => "autosleeper: `up` must be at least 1",
            Self::DownAboveOne => "autosleeper: `down` must be at most 1",
            Self::ZeroThreshold => "autosleeper: `threshold` must be at least 1",
            Self::SpreadAboveOne => "autosleeper: `spread` must be at most 1",
        })
    }
}

impl core::error::Error for AutosleeperError {}

fields!(AutosleeperState { delay: Span, successes: u16, quiet_from: Instant });
record!(Autosleeper, AutosleeperState);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_initial_delay_may_be_the_longest() {
        let config = AutosleeperConfig::DEFAULT;
        assert!(Autosleeper::new(AutosleeperConfig { initial: config.most, ..config }).is_ok());
    }

    #[test]
    fn only_the_newest_call_ends_its_delay_when_it_is_refunded() {
        let law = Autosleeper::DEFAULT;
        let (sent, later) = (Instant::from_nanos(1), Instant::from_nanos(2));
        for newest in [false, true] {
            let (mut pacing, mut rng) = (Pacing::new(sent), Rng::new(0));
            let mut state = law.start(sent);
            state.delay = Span::from_secs(1);
            law.released(&mut state, &mut pacing, sent, 1, 0, &mut rng);
            let quiet_from = state.quiet_from;
            assert!(quiet_from > later);
            law.refunded(&mut state, &mut pacing, later, 1, newest);
            assert_eq!(pacing.ready_at(1, None).is_none_or(|at| at <= later), newest);
            assert_eq!(state.quiet_from, if newest { later } else { quiet_from });
        }
    }
}
