//! The laws that the small module knows.
//!
//! Core's `AnyLaw` links every law, most of which are there to be compared with. A page that calls
//! one API needs the law for an unknown limit and the one for a known.

use core::num::NonZeroU16;

use tidegate::gate::Pace;
use tidegate::law::{Adaptive, AdaptiveState, Fixed, Law, Move, Sample};
use tidegate::snapshot::{Reader, Record, Writer};
use tidegate::{Instant, Quota, Rng, Span, Verdict};

/// A law chosen at run time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FewLaws {
    /// For an unknown limit.
    Adaptive(Adaptive),
    /// For a known limit.
    Fixed(Fixed),
}

impl From<Adaptive> for FewLaws {
    fn from(law: Adaptive) -> Self {
        Self::Adaptive(law)
    }
}

impl From<Fixed> for FewLaws {
    fn from(law: Fixed) -> Self {
        Self::Fixed(law)
    }
}

/// `Fixed` remembers nothing, so the one state is that of `Adaptive`.
impl Law for FewLaws {
    type State = AdaptiveState;

    fn start(&self, now: Instant) -> AdaptiveState {
        match self {
            Self::Adaptive(law) => law.start(now),
            Self::Fixed(_) => Adaptive::DEFAULT.start(now),
        }
    }

    fn quota(&self, _: &AdaptiveState) -> Option<Quota> {
        match self {
            Self::Adaptive(_) => None,
            Self::Fixed(law) => law.quota(&law.start(Instant::ZERO)),
        }
    }

    fn interval(&self, state: &AdaptiveState, now: Instant) -> Option<Span> {
        match self {
            Self::Adaptive(law) => law.interval(state, now),
            Self::Fixed(_) => self.quota(state).map(Quota::interval),
        }
    }

    fn check(&self, state: &AdaptiveState, now: Instant) -> Verdict {
        match self {
            Self::Adaptive(law) => law.check(state, now),
            Self::Fixed(_) => Verdict::Go,
        }
    }

    fn window(&self, state: &AdaptiveState) -> Option<NonZeroU16> {
        match self {
            Self::Adaptive(law) => law.window(state),
            Self::Fixed(_) => None,
        }
    }

    fn released(
        &self,
        state: &mut AdaptiveState,
        pace: &mut Pace,
        now: Instant,
        cost: u32,
        rng: &mut Rng,
    ) {
        if let Self::Adaptive(law) = self {
            law.released(state, pace, now, cost, rng);
        }
    }

    fn observe(
        &self,
        state: &mut AdaptiveState,
        pace: &mut Pace,
        sample: &Sample,
        rng: &mut Rng,
    ) -> Move {
        match self {
            Self::Adaptive(law) => law.observe(state, pace, sample, rng),
            Self::Fixed(_) => Move::Held,
        }
    }
}

impl Record for FewLaws {
    const BYTES: usize = 1 + Adaptive::BYTES;

    fn write(&self, state: &AdaptiveState, out: &mut Writer<'_>) {
        match self {
            Self::Adaptive(law) => out.variant(Self::BYTES, 0, |out| law.write(state, out)),
            Self::Fixed(_) => out.variant(Self::BYTES, 1, |_| ()),
        }
    }

    fn read(&self, input: &mut Reader<'_>) -> Option<AdaptiveState> {
        input.variant(Self::BYTES, |tag, input| match (self, tag) {
            (Self::Adaptive(law), 0) => law.read(input),
            (Self::Fixed(_), 1) => Some(self.start(Instant::ZERO)),
            _ => None,
        })
    }
}
