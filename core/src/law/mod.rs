//! The laws: how the rate responds to outcomes.
//!
//! A law is only arithmetic. The controller determines what all laws need (one cut per congestion
//! event, growth only if the law was the limit) and passes it as [`Sample::fresh`] and
//! [`Sample::rate_limited`]. Published laws may ignore these, and then document it.

mod adaptive;
mod aimd;
mod aimd_concurrency;
mod any;
mod fixed;
pub(crate) mod record;
mod vegas;

/// Laws published by others, named after their sources.
pub mod published {
    mod autosleeper;
    mod heroku;
    mod tchannel;

    pub use autosleeper::{Autosleeper, AutosleeperConfig, AutosleeperState};
    pub use heroku::{Heroku, HerokuConfig, HerokuState, Strategy};
    pub use tchannel::{Over, Recovery, Tchannel, TchannelConfig, TchannelState};
}

pub use adaptive::{Adaptive, AdaptiveState, Basis};
pub use aimd::{Aimd, AimdConfig, AimdCooldown};
pub use aimd_concurrency::{AimdConcurrency, AimdConcurrencyConfig};
pub use fixed::Fixed;
use published::{Autosleeper, Heroku, Tchannel};
pub use record::Record;
pub use vegas::Vegas;

// The tags in snapshots never change; 4 is not used again.
any::choice! {
    /// Any of the laws, for frontends that choose one at run time. Firmware with a single law
    /// names it as the type parameter instead, and links no other law.
    ///
    /// ```
    /// use tidegate::law::{Aimd, AnyLaw};
    /// use tidegate::{Controller, Instant, Policy};
    ///
    /// let chosen = AnyLaw::from(Aimd::DEFAULT);
    /// let gate: Controller = Controller::new(Policy::new(chosen), 1, Instant::ZERO);
    /// # let _ = gate;
    /// ```
    #[non_exhaustive]
    AnyLaw,
    /// The state of an [`AnyLaw`].
    ///
    /// ```
    /// use tidegate::law::{Aimd, AnyLaw, AnyState, AimdConcurrency, Law, Pace};
    /// use tidegate::{Controller, Instant, Policy};
    ///
    /// let law = AnyLaw::from(AimdConcurrency::DEFAULT);
    /// let gate: Controller = Controller::new(Policy::new(law), 1, Instant::ZERO);
    /// let state = gate.states().next().unwrap();
    /// assert!(matches!(state, AnyState::AimdConcurrency(_)));
    /// assert_eq!(law.pace(state, Instant::ZERO, 0, false).concurrency.unwrap().get(), 4);
    /// // To another law it is no state, and nothing that stops a call either.
    /// let other = AnyLaw::from(Aimd::DEFAULT);
    /// assert_eq!(other.pace(state, Instant::ZERO, 0, false), Pace::UNLIMITED);
    /// ```
    #[non_exhaustive]
    AnyState: 0 Adaptive 5 Fixed 1 Aimd 8 Vegas 3 AimdConcurrency 7 Autosleeper 2 Tchannel 6 Heroku
}

any::choice! {
    /// The law for an unknown limit or that for a known one, chosen at run time. Unlike [`AnyLaw`], it links no other.
    ///
    /// ```
    /// use tidegate::law::{FewLaws, Fixed};
    /// use tidegate::{Controller, Instant, Policy};
    ///
    /// let policy = Policy::new(FewLaws::from(Fixed::TEN_A_SECOND));
    /// let gate: Controller<FewLaws> = Controller::new(policy, 1, Instant::ZERO);
    /// # let _ = gate;
    /// ```
    FewLaws,
    /// The state of [`FewLaws`].
    FewState: 0 Adaptive 5 Fixed
}

use core::fmt::Debug;
use core::num::NonZeroU16;

use crate::gate::{CooldownPolicy, Pacing};
use crate::hint::Hint;
use crate::outcome::Outcome;
use crate::rate::Quota;
use crate::rng::Rng;
use crate::snapshot::{Reader, Writer};
use crate::time::{Instant, Span};
use crate::verdict::Reason;
use record::longest;

/// A control law: a constant configuration that updates a small state.
///
/// ```
/// use tidegate::{Instant, Outcome, Quota, Rng, gate::Pacing};
/// use tidegate::law::{Aimd, Law, Move, Sample};
///
/// let law = Aimd::DEFAULT; // starts at ten a second, halves when it is throttled
/// let now = Instant::ZERO;
/// let (mut state, mut pacing, mut rng) = (law.start(now), Pacing::new(now), Rng::new(1));
/// let throttled = Sample::new(now, now, Outcome::Throttled);
/// assert_eq!(law.observe(&mut state, &mut pacing, &throttled, &mut rng), Move::Slower);
/// let interval = law.pace(&state, now, 0, false).quota.unwrap().interval();
/// assert_eq!(interval.as_millis(), 200); // five a second
/// ```
pub trait Law {
    /// The law's state: plain data.
    type State: Copy + Debug + Eq;

    /// The initial state.
    fn start(&self, now: Instant) -> Self::State;

    /// What limits a call at `now`, while so many others are in flight. The controller reads a few fields at a time:
    /// inline this, and the others cost nothing.
    fn pace(&self, state: &Self::State, now: Instant, in_flight: u16, is_retry: bool) -> Pace;

    /// The interval before jitter that the law keeps in addition to its quota, after a call of this cost; `None` is the
    /// usual cost.
    fn interval(&self, _: &Self::State, _now: Instant, _cost: Option<u32>) -> Option<Span> {
        None
    }

    /// A call was admitted, and the pacing was charged.
    fn sent(&self, _: &mut Self::State, _: &Sent, _: &mut Rng) {}

    /// A call cost `used` instead of what was `charged`; `None` if it was not sent. The pacing has been corrected. A law
    /// that schedules calls itself corrects its schedule.
    fn corrected(&self, _: &mut Self::State, _now: Instant, _charged: u32, _used: Option<u32>) {}

    /// The longest cooldown became shorter: no call waits for the law beyond `latest`.
    fn shorten(&self, _: &mut Self::State, _latest: Instant) {}

    /// A call completed. A law that changes its quota lets the pacing [follow](Pacing::follow). The law
    /// does not see calls that were abandoned, found a quota exhausted, or cost nothing of this limit.
    fn observe(
        &self,
        state: &mut Self::State,
        pacing: &mut Pacing,
        sample: &Sample<'_>,
        rng: &mut Rng,
    ) -> Move;
}

/// What limits a call at one instant, according to a law.
///
/// ```
/// use core::num::NonZeroU16;
/// use tidegate::law::{Adaptive, Law, Pace};
/// use tidegate::Instant;
///
/// let (law, now) = (Adaptive::DEFAULT, Instant::ZERO);
/// // Slow start: ten calls in flight at first, and more a moment later.
/// let Pace { quota, concurrency, widens_at, .. } = law.pace(&law.start(now), now, 0, false);
/// assert_eq!((quota, concurrency), (None, NonZeroU16::new(10)));
/// assert!(widens_at > Some(now));
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Pace {
    /// The rate, which the pacing keeps; `None` if the law sets none. Only the state determines it.
    pub quota: Option<Quota>,
    /// The earliest time of the call: zero for at once, [`Instant::MAX`] for never.
    pub not_before: Instant,
    /// Why the law rejects the call.
    pub rejection: Option<Reason>,
    /// How many calls may be in flight; `None` if the law sets no limit.
    pub concurrency: Option<NonZeroU16>,
    /// When that number may next be higher if no call settles until then. `None` if it does not grow with time.
    pub widens_at: Option<Instant>,
}

impl Pace {
    /// Nothing limits calls.
    pub const UNLIMITED: Self = Self {
        quota: None,
        not_before: Instant::ZERO,
        rejection: None,
        concurrency: None,
        widens_at: None,
    };
}

/// A call as a law sees it when it is sent.
///
/// ```
/// use tidegate::law::{Law, Sent, published::Tchannel};
/// use tidegate::{Instant, Rng};
///
/// let mut state = Tchannel::DEFAULT.start(Instant::ZERO);
/// Tchannel::DEFAULT.sent(&mut state, &Sent::new(Instant::ZERO), &mut Rng::new(1));
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Sent {
    /// When it is sent.
    pub now: Instant,
    /// When the latest cooldown ended. Before that, no call could be sent, so none is made up for.
    pub cooldown_end: Instant,
    /// The cost charged to this limit; never zero.
    pub cost: u32,
    /// Number of earlier attempts of the call, as in [`Call::attempt`](crate::Call::attempt).
    pub attempt: u16,
}

impl Sent {
    /// A first attempt of cost 1, and no cooldown before it.
    #[must_use]
    pub const fn new(now: Instant) -> Self {
        Self { now, cooldown_end: Instant::ZERO, cost: 1, attempt: 0 }
    }
}

/// A completed call as a law sees it.
///
/// ```
/// use tidegate::law::{Aimd, Law, Move, Sample};
/// use tidegate::{Instant, Outcome, Rng, gate::Pacing};
///
/// let (law, now) = (Aimd::DEFAULT, Instant::ZERO);
/// let (mut state, mut pacing, mut rng) = (law.start(now), Pacing::new(now), Rng::new(1));
/// let throttled = Sample::new(now, now, Outcome::Throttled);
/// assert_eq!(law.observe(&mut state, &mut pacing, &throttled, &mut rng), Move::Slower);
/// // Another call of the same burst, which was sent before the cut: it tells nothing new.
/// let mut late = throttled;
/// late.fresh = false;
/// let before = state;
/// assert_eq!(law.observe(&mut state, &mut pacing, &late, &mut rng), Move::Kept);
/// assert_eq!(state, before);
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Sample<'a> {
    /// When the answer arrived.
    pub now: Instant,
    /// When the call was sent.
    pub sent: Instant,
    /// The cost charged to this limit; never zero.
    pub cost: u32,
    /// Its outcome; never [`Outcome::Abandoned`] or [`Outcome::Exhausted`], which teach nothing.
    pub outcome: Outcome,
    /// The server's hint for this limit.
    pub hint: &'a Hint,
    /// Whether the call was sent after the latest cut. A call sent before it belongs to the same
    /// congestion event and must not cut again.
    pub fresh: bool,
    /// Whether a call waited for this limit longer than for any other since the previous call was
    /// sent. Only then was the law the limit, and only then may it grow.
    pub rate_limited: bool,
    /// Number of earlier attempts of the call, as in [`Call::attempt`](crate::Call::attempt).
    pub attempt: u16,
    /// Whether the program asked for another attempt of the call that was not served last.
    pub tries_again: bool,
    /// How many other calls are in flight.
    pub in_flight: u16,
    /// The policy's longest cooldown. No law follows a longer one.
    pub ceiling: Span,
    /// Age of the server's hint. A controller that leases calls to members receives their outcomes
    /// late, and runs ahead of the clock.
    #[cfg(feature = "shared")]
    pub hinted_ago: Span,
}

impl Sample<'_> {
    /// When the server gave its hint.
    pub(crate) fn hinted_at(&self) -> Instant {
        #[cfg(feature = "shared")]
        return self.now - self.hinted_ago;
        #[cfg(not(feature = "shared"))]
        self.now
    }

    /// A fresh and rate-limited first attempt of cost 1 without a hint.
    #[must_use]
    pub const fn new(now: Instant, sent: Instant, outcome: Outcome) -> Self {
        Self {
            now,
            sent,
            cost: 1,
            outcome,
            hint: &Hint::NONE,
            fresh: true,
            rate_limited: true,
            attempt: 0,
            tries_again: false,
            in_flight: 0,
            ceiling: CooldownPolicy::DEFAULT.ceiling(),
            #[cfg(feature = "shared")]
            hinted_ago: Span::ZERO,
        }
    }
}

/// How a law reacted to a sample.
///
/// ```
/// use tidegate::law::{Aimd, Law, Move, Sample};
/// use tidegate::{Instant, Outcome, Rng, gate::Pacing};
///
/// let (law, now) = (Aimd::DEFAULT, Instant::ZERO);
/// let (mut state, mut pacing) = (law.start(now), Pacing::new(now));
/// let throttled = Sample::new(now, now, Outcome::Throttled);
/// assert_eq!(law.observe(&mut state, &mut pacing, &throttled, &mut Rng::new(1)), Move::Slower);
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Move {
    /// It kept its rate.
    Kept,
    /// It cut its rate or its concurrency limit. Calls sent before now belong to this congestion
    /// event.
    Slower,
    /// It raised its rate or its concurrency limit.
    Faster,
}
