//! A law chosen at run time.

use crate::gate::Pace;
use crate::law::{Aimd, AimdState, Fixed, Law, Move, Responsive, ResponsiveState, Sample};
use crate::rate::Quota;
use crate::rng::Rng;
use crate::time::Instant;

/// Any of the laws, for frontends that choose one at run time. Firmware that has settled on a law
/// names it as the type parameter instead, and links no other.
///
/// ```
/// use tidegate::law::{Aimd, AnyLaw};
/// use tidegate::{Controller, Instant, Policy};
///
/// let chosen = AnyLaw::from(Aimd::DEFAULT);
/// let gate: Controller = Controller::new(Policy::new(chosen), 1, Instant::ZERO);
/// # let _ = gate;
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum AnyLaw {
    /// [`Aimd`].
    Aimd(Aimd),
    /// [`Fixed`].
    Fixed(Fixed),
    /// [`Responsive`].
    Responsive(Responsive),
}

/// What an [`AnyLaw`] remembers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum AnyState {
    /// Of [`AnyLaw::Aimd`].
    Aimd(AimdState),
    /// Of [`AnyLaw::Fixed`].
    Fixed,
    /// Of [`AnyLaw::Responsive`].
    Responsive(ResponsiveState),
}

impl From<Aimd> for AnyLaw {
    fn from(law: Aimd) -> Self {
        Self::Aimd(law)
    }
}

impl From<Fixed> for AnyLaw {
    fn from(law: Fixed) -> Self {
        Self::Fixed(law)
    }
}

impl From<Responsive> for AnyLaw {
    fn from(law: Responsive) -> Self {
        Self::Responsive(law)
    }
}

/// A state that belongs to another law, which no controller ever holds, counts as no state: the
/// law sets no rate until its next sample, with which it starts anew.
impl Law for AnyLaw {
    type State = AnyState;

    fn start(&self, now: Instant) -> AnyState {
        match self {
            Self::Aimd(law) => AnyState::Aimd(law.start(now)),
            Self::Fixed(_) => AnyState::Fixed,
            Self::Responsive(law) => AnyState::Responsive(law.start(now)),
        }
    }

    fn quota(&self, state: &AnyState) -> Option<Quota> {
        match (self, state) {
            (Self::Aimd(law), AnyState::Aimd(state)) => law.quota(state),
            (Self::Fixed(law), _) => law.quota(&()),
            (Self::Responsive(law), AnyState::Responsive(state)) => law.quota(state),
            _ => None,
        }
    }

    fn released(&self, state: &mut AnyState, pace: &mut Pace, now: Instant, rng: &mut Rng) {
        if let (Self::Responsive(law), AnyState::Responsive(state)) = (self, state) {
            law.released(state, pace, now, rng);
        }
    }

    fn observe(
        &self,
        state: &mut AnyState,
        pace: &mut Pace,
        sample: &Sample,
        rng: &mut Rng,
    ) -> Move {
        match (self, &mut *state) {
            (Self::Aimd(law), AnyState::Aimd(state)) => law.observe(state, pace, sample, rng),
            (Self::Fixed(_), AnyState::Fixed) => Move::Held,
            (Self::Responsive(law), AnyState::Responsive(state)) => {
                law.observe(state, pace, sample, rng)
            }
            _ => {
                *state = self.start(sample.now);
                Move::Held
            }
        }
    }
}
