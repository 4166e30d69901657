//! `tchannel`: a limit for each second, halved by busy responses.

use core::num::NonZeroU32;

use crate::config_error::ConfigError;
use crate::gate::Pacing;
use crate::law::record::record;
use crate::law::{Law, Move, Pace, Sample, Sent};
use crate::rng::Rng;
use crate::snapshot::fields;
use crate::time::{Instant, Span};
use crate::verdict::Reason;

/// How the limit grows back, once a second.
///
/// ```
/// use tidegate::law::published::{Recovery, Tchannel, TchannelConfig};
///
/// let linear = TchannelConfig { recovery: Recovery::Value(200), ..TchannelConfig::DEFAULT };
/// assert!(Tchannel::new(linear).is_ok());
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Recovery {
    /// By this multiple of itself, 1 to 14: a rate of 3 makes the limit four times as high.
    Rate(u32),
    /// By this many calls a second; at least 1.
    Value(u32),
}

/// What happens to a call over the limit.
///
/// ```
/// use core::num::NonZeroU32;
/// use tidegate::law::published::{Tchannel, TchannelConfig, Over};
/// use tidegate::{Call, Controller, Decision, Instant, Policy, Reason};
///
/// let second_call = |over| {
///     let config = TchannelConfig { most: NonZeroU32::MIN, over, ..TchannelConfig::DEFAULT };
///     let policy = Policy::new(Tchannel::new(config).unwrap());
///     let mut gate: Controller<Tchannel> = Controller::new(policy, 7, Instant::ZERO);
///     let Decision::Admit(_) = gate.poll(Instant::ZERO, &Call::new()) else { panic!() };
///     gate.poll(Instant::from_nanos(400_000_000), &Call::new())
/// };
/// assert_eq!(second_call(Over::Reject), Decision::Reject(Reason::OverLimit));
/// assert_eq!(second_call(Over::Wait), Decision::Wait(Instant::from_nanos(1_000_000_000)));
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Over {
    /// It is rejected at once ([`Reason::OverLimit`]), as in the source.
    Reject,
    /// It waits for the next second that has room.
    Wait,
}

/// The configuration of [`Tchannel`]. Start from [`TchannelConfig::DEFAULT`].
///
/// ```
/// use core::num::NonZeroU32;
/// use tidegate::law::published::{Tchannel, TchannelConfig};
///
/// let config = TchannelConfig { most: NonZeroU32::new(2).unwrap(), ..TchannelConfig::DEFAULT };
/// assert!(Tchannel::new(config).is_ok());
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct TchannelConfig {
    /// The initial and highest limit, in calls a second: up to 9 999 999.
    pub most: NonZeroU32,
    /// How the limit grows back.
    pub recovery: Recovery,
    /// What happens to a call over the limit.
    pub over: Over,
}

impl TchannelConfig {
    /// The source's constants (recovery by rate 3), for callers that wait.
    pub const DEFAULT: Self = Self {
        most: NonZeroU32::MIN.saturating_add(9_999_998),
        recovery: Recovery::Rate(3),
        over: Over::Wait,
    };
}

impl Default for TchannelConfig {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Throttling on busy responses: a limit for each second that busy responses halve and quiet
/// seconds raise.
///
/// Source: "Throttling on Busy Responses" in uber/tchannel (`docs/busy-throttling.md` and
/// `docs/throttling.py`, branch busy-throttling, 2015). The law follows the program, and reproduces the
/// four tables of that page, character for character.
///
/// Each busy response of a second halves the limit, at most 20 times: 3000 of them reduce 9 999 999
/// calls to 38, and 38 in the next second reduce it to nothing. A call that was sent before the
/// latest cut cuts again. The page's text says otherwise: half of the measured calls, and a later
/// recovery after a longer busy time.
///
/// Within a second calls are not spaced, so the limit is a burst. With a server with a hard limit
/// the law uses a small part of the capacity, because it grows by a factor of four and falls by a
/// million. A total outage settles at two calls a second (rate 3).
///
/// Calls are counted, not their costs. Seconds begin with the controller, not with the epoch.
///
/// ```
/// use tidegate::{ConfigError, law::published::{Tchannel, TchannelConfig, Recovery}};
///
/// assert!(Tchannel::new(TchannelConfig { recovery: Recovery::Value(200), ..TchannelConfig::DEFAULT }).is_ok());
/// let stuck = TchannelConfig { recovery: Recovery::Rate(0), ..TchannelConfig::DEFAULT };
/// assert_eq!(Tchannel::new(stuck), Err(ConfigError::TchannelRecovery));
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Tchannel {
    config: TchannelConfig,
}

/// The state of [`Tchannel`].
///
/// ```
/// use tidegate::law::{Law, published::Tchannel};
/// use tidegate::{Controller, Instant, Policy};
///
/// let gate: Controller<Tchannel> = Controller::new(Policy::new(Tchannel::DEFAULT), 7, Instant::ZERO);
/// let state = gate.states().next().unwrap();
/// assert_eq!(state.limit_q36(), 9_999_999 << 36);
/// // The limit is one of calls in a second, and none of the time between two of them.
/// assert_eq!(Tchannel::DEFAULT.interval(state, Instant::ZERO, None), None);
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct TchannelState {
    /// When the current second began.
    second: Instant,
    /// Calls a second with 36 bits of fraction. The source uses floating point, but every division
    /// in its tables is by a power of two, so the results are exact.
    limit: u64,
    /// Calls sent in the current second.
    sent: u32,
    /// Busy responses in the current second.
    busy: u32,
}

const FRACTION: u32 = 36;
const ONE: u64 = 1 << FRACTION;
const SECOND: Span = Span::from_secs(1);
/// The source's maximum number of halvings within a second.
const MOST_HALVINGS: u32 = 20;

impl TchannelState {
    /// The limit of the second in which a call was last sent or completed, in calls with 36 bits of
    /// fraction.
    #[must_use]
    pub const fn limit_q36(&self) -> u64 {
        self.limit
    }

    /// Whole calls that still fit into the current second.
    const fn room(&self) -> u64 {
        (self.limit >> FRACTION).saturating_sub(self.sent as u64)
    }
}

impl Tchannel {
    /// The law of [`TchannelConfig::DEFAULT`].
    pub const DEFAULT: Self = Self { config: TchannelConfig::DEFAULT };

    /// The law with this configuration.
    ///
    /// # Errors
    /// [`ConfigError`] names what is wrong.
    pub const fn new(config: TchannelConfig) -> Result<Self, ConfigError> {
        if config.most.get() > 9_999_999 {
            return Err(ConfigError::TchannelMost);
        }
        // 24 bits of limit, 4 of rate and 36 of fraction: a higher rate would not fit.
        if let Recovery::Rate(15..) = config.recovery {
            return Err(ConfigError::TchannelRate);
        }
        if let Recovery::Rate(0) | Recovery::Value(0) = config.recovery {
            return Err(ConfigError::TchannelRecovery);
        }
        Ok(Self { config })
    }

    const fn most(&self) -> u64 {
        (self.config.most.get() as u64) << FRACTION
    }

    /// The state at `now`, with an update for each second that has ended since. Time is not part of
    /// the state, so checking changes nothing.
    fn at(&self, state: &TchannelState, now: Instant) -> TchannelState {
        let mut state = *state;
        let ended = (now - state.second).as_secs();
        state.second += SECOND * ended;
        for ended in (0..ended).rev() {
            state = self.next_second(state);
            // The other seconds are quiet and only raise the limit, so at the maximum nothing changes.
            if state.limit == self.most() {
                break;
            }
            if let Recovery::Value(step) = self.config.recovery {
                // Many small steps at once, so that a year of seconds is not a loop.
                let steps = u64::from(step).saturating_mul(ONE).saturating_mul(ended);
                state.limit = state.limit.saturating_add(steps).min(self.most());
                break;
            }
        }
        state
    }

    fn next_second(&self, mut state: TchannelState) -> TchannelState {
        let grown = match self.config.recovery {
            Recovery::Rate(rate) => state.limit.saturating_mul(u64::from(rate).saturating_add(1)),
            Recovery::Value(step) => {
                state.limit.saturating_add(u64::from(step).saturating_mul(ONE))
            }
        };
        let halvings = state.busy.min(MOST_HALVINGS);
        // Twenty halvings of the smallest limit would leave zero, which cannot grow. Keep the
        // smallest value above zero.
        state.limit = (grown >> halvings).min(self.most()).max(1);
        state.sent = 0;
        state.busy = 0;
        state
    }

    /// When the limit next admits a call: zero for at once.
    fn next_room(&self, state: &TchannelState, now: Instant) -> Instant {
        let mut state = self.at(state, now);
        if state.room() > 0 {
            return Instant::ZERO;
        }
        // From the smallest limit, a factor of two reaches one call within 40 seconds.
        for _ in 0..64 {
            state.second += SECOND;
            state = self.next_second(state);
            if state.room() > 0 {
                break;
            }
        }
        state.second
    }
}

impl Default for Tchannel {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Law for Tchannel {
    type State = TchannelState;

    fn start(&self, now: Instant) -> TchannelState {
        TchannelState { second: now, limit: self.most(), sent: 0, busy: 0 }
    }

    #[inline(always)]
    fn pace(&self, state: &TchannelState, now: Instant, _: u16, _: bool) -> Pace {
        let not_before = self.next_room(state, now);
        let rejects = self.config.over == Over::Reject && not_before > Instant::ZERO;
        let rejection = rejects.then_some(Reason::OverLimit);
        Pace { not_before, rejection, ..Pace::UNLIMITED }
    }

    fn sent(&self, state: &mut TchannelState, sent: &Sent, _: &mut Rng) {
        *state = self.at(state, sent.now);
        state.sent = state.sent.saturating_add(1);
    }

    /// Calls are counted, not their costs.
    fn corrected(&self, state: &mut TchannelState, now: Instant, _: u32, used: Option<u32>) {
        if used.is_none() {
            *state = self.at(state, now);
            state.sent = state.sent.saturating_sub(1);
        }
    }

    fn observe(
        &self,
        state: &mut TchannelState,
        _: &mut Pacing,
        sample: &Sample<'_>,
        _: &mut Rng,
    ) -> Move {
        let before = state.limit;
        *state = self.at(state, sample.now);
        if sample.outcome.is_pushback() {
            state.busy = state.busy.saturating_add(1);
            return Move::Slower;
        }
        if state.limit > before { Move::Faster } else { Move::Kept }
    }
}

fields!(TchannelState { second: Instant, limit: u64, sent: u32, busy: u32 });
record!(Tchannel, TchannelState where |law, state| {
    // A limit of zero would never grow back, which would mean a loop over all seconds since.
    (1..=law.most()).contains(&state.limit)
});
