//! The laws of the page's first figures as one law type, so that the controller and the queue are
//! compiled once.

use std::num::NonZeroU16;

use tidegate::gate::Pacing;
use tidegate::law::{Adaptive, AdaptiveState, Law, Move, Sample};
use tidegate::{Instant, Quota, Rng, Span, Verdict};

/// `Adaptive`, or `Fixed` without a quota and its code.
#[derive(Clone, Copy)]
pub struct Few(pub Option<Adaptive>);

/// The state and the law are of the same kind.
impl Law for Few {
    type State = Option<AdaptiveState>;

    fn start(&self, now: Instant) -> Self::State {
        self.0.map(|law| law.start(now))
    }

    fn quota(&self, state: &Self::State) -> Option<Quota> {
        self.0?.quota(state.as_ref()?)
    }

    fn check(&self, state: &Self::State, now: Instant, in_flight: u16, is_retry: bool) -> Verdict {
        match (&self.0, state) {
            (Some(law), Some(state)) => law.check(state, now, in_flight, is_retry),
            _ => Verdict::Admit,
        }
    }

    fn concurrency(&self, state: &Self::State, now: Instant) -> Option<NonZeroU16> {
        self.0?.concurrency(state.as_ref()?, now)
    }

    fn widens_at(&self, state: &Self::State, now: Instant) -> Option<Instant> {
        self.0?.widens_at(state.as_ref()?, now)
    }

    fn interval(&self, state: &Self::State, now: Instant) -> Option<Span> {
        self.0?.interval(state.as_ref()?, now)
    }

    fn released(
        &self,
        state: &mut Self::State,
        now: Instant,
        cost: u32,
        attempt: u16,
        rng: &mut Rng,
    ) {
        if let (Some(law), Some(state)) = (&self.0, state) {
            law.released(state, now, cost, attempt, rng);
        }
    }

    fn corrected(&self, state: &mut Self::State, now: Instant, charged: u32, used: u32) {
        if let (Some(law), Some(state)) = (&self.0, state) {
            law.corrected(state, now, charged, used);
        }
    }

    fn observe(
        &self,
        state: &mut Self::State,
        pacing: &mut Pacing,
        sample: &Sample<'_>,
        rng: &mut Rng,
    ) -> Move {
        match (&self.0, state) {
            (Some(law), Some(state)) => law.observe(state, pacing, sample, rng),
            _ => Move::Kept,
        }
    }
}
