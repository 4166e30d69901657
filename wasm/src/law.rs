//! The laws of the small module.
//!
//! Core's `AnyLaw` links every law, most of them for comparison. A page needs only the laws for an
//! unknown and for a known limit.

use core::num::NonZeroU16;

use tidegate::gate::Pacing;
use tidegate::law::{Adaptive, AdaptiveState, Fixed, Law, Move, Sample};
use tidegate::{Instant, Quota, Rng, Span, Verdict};

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

/// `Fixed` has no state, so the only state is that of `Adaptive`.
impl Law for FewLaws {
    type State = AdaptiveState;

    fn start(&self, now: Instant) -> AdaptiveState {
        match self {
            Self::Adaptive(law) => law.start(now),
            Self::Fixed(_) => Adaptive::DEFAULT.start(now),
        }
    }

    fn quota(&self, state: &AdaptiveState) -> Option<Quota> {
        match self {
            Self::Adaptive(law) => law.quota(state),
            Self::Fixed(law) => law.quota(&law.start(Instant::ZERO)),
        }
    }

    fn interval(&self, state: &AdaptiveState, now: Instant) -> Option<Span> {
        match self {
            Self::Adaptive(law) => law.interval(state, now),
            Self::Fixed(_) => self.quota(state).map(Quota::interval),
        }
    }

    fn interval_after(&self, state: &AdaptiveState, now: Instant, cost: u32) -> Option<Span> {
        match self {
            Self::Adaptive(law) => law.interval_after(state, now, cost),
            Self::Fixed(_) => self.interval(state, now),
        }
    }

    fn check(
        &self,
        state: &AdaptiveState,
        now: Instant,
        in_flight: u16,
        is_retry: bool,
    ) -> Verdict {
        match self {
            Self::Adaptive(law) => law.check(state, now, in_flight, is_retry),
            Self::Fixed(_) => Verdict::Admit,
        }
    }

    fn concurrency(&self, state: &AdaptiveState, now: Instant) -> Option<NonZeroU16> {
        match self {
            Self::Adaptive(law) => law.concurrency(state, now),
            Self::Fixed(_) => None,
        }
    }

    fn widens_at(&self, state: &AdaptiveState, now: Instant) -> Option<Instant> {
        match self {
            Self::Adaptive(law) => law.widens_at(state, now),
            Self::Fixed(_) => None,
        }
    }

    fn released(
        &self,
        state: &mut AdaptiveState,
        now: Instant,
        cost: u32,
        attempt: u16,
        rng: &mut Rng,
    ) {
        if let Self::Adaptive(law) = self {
            law.released(state, now, cost, attempt, rng);
        }
    }

    fn corrected(&self, state: &mut AdaptiveState, now: Instant, charged: u32, used: u32) {
        if let Self::Adaptive(law) = self {
            law.corrected(state, now, charged, used);
        }
    }

    fn shorten(&self, state: &mut AdaptiveState, latest: Instant) {
        if let Self::Adaptive(law) = self {
            law.shorten(state, latest);
        }
    }

    fn observe(
        &self,
        state: &mut AdaptiveState,
        pacing: &mut Pacing,
        sample: &Sample,
        rng: &mut Rng,
    ) -> Move {
        match self {
            Self::Adaptive(law) => law.observe(state, pacing, sample, rng),
            Self::Fixed(_) => Move::Kept,
        }
    }
}

#[cfg(all(test, feature = "gate"))]
mod tests {
    use tidegate::gate::CooldownPolicy;
    use tidegate::law::AnyLaw;
    use tidegate::{Call, Controller, Decision, Hint, Outcome, Policy, Ratio};

    use super::*;

    /// A controller's answers at each step with this law, and the interval between calls after it.
    fn played(law: impl Law + Copy + PartialEq) -> Vec<(Instant, u32, Option<Span>)> {
        let mut now = Instant::ZERO;
        let mut rng = Rng::new(3);
        let mut draw = |below: u32| rng.next_u32() % below;
        let mut gate: Controller<_, 1> = Controller::new(Policy::new(law), 7, now);
        let steps = 0..2_000_u32;
        steps
            .map(|step| {
                let cost = 1 + draw(4);
                match gate.poll(now, &Call::of([cost])) {
                    Decision::Admit(permit) => {
                        now += Span::from_millis(u64::from(draw(50)));
                        let throttled = step % 97 == 60;
                        let minute = Hint::retry_after(Span::from_secs(60));
                        let reply = match throttled {
                            true => Outcome::Throttled.with(minute),
                            false => Outcome::Ok.with(Hint::NONE),
                        };
                        gate.settle(now, permit, reply.using([draw(9)]));
                        // Half of the cooldowns are shortened.
                        let seconds = if step % 2 == 0 { 5 } else { 3_600 };
                        let ceiling = CooldownPolicy::new(Span::from_secs(seconds), Ratio::HALF);
                        gate.set_policy(Policy::new(law).cooldown(ceiling.unwrap()), now);
                    }
                    Decision::Wait(until) => now = until,
                    other => panic!("step {step}: {other:?}"),
                }
                (now, gate.stats().admitted, gate.intervals(now).next().flatten())
            })
            .collect()
    }

    #[test]
    fn the_few_laws_equal_those_of_core() {
        let quota = Quota::per_second(40).and_then(|quota| quota.with_burst(4)).unwrap();
        for law in [Adaptive::DEFAULT, Adaptive::with_quota(quota)] {
            assert_eq!(played(FewLaws::from(law)), played(AnyLaw::from(law)));
        }
        for law in [Fixed::UNLIMITED, Fixed::new(quota)] {
            assert_eq!(played(FewLaws::from(law)), played(AnyLaw::from(law)));
        }
    }
}
