//! A law grows only if it was the limit. Other causes of waits raise no rate.

use core::num::NonZeroU16;
use std::collections::VecDeque;

use tidegate::backoff::{Backoff, Growth, Jitter};
use tidegate::gate::Pacing;
use tidegate::law::{
    Aimd, AimdConcurrency, AimdConfig, AimdCooldown, AnyLaw, Fixed, Law, Move, Pace, Sample,
    published::{Tchannel, TchannelConfig},
};
use tidegate::{
    Call, Controller, Decision, Instant, Outcome, Policy, Quota, Reason, Rng, Span, Verdict,
};

use crate::client::admitted;
use crate::{SECOND, at};

/// Waits until `call` is admitted. Returns when that was.
fn admit<L: Law + Copy, const LIMITS: usize>(
    gate: &mut Controller<L, LIMITS>,
    now: Instant,
    call: &Call<LIMITS>,
    outcome: Outcome,
) -> Instant {
    let mut now = now.as_nanos();
    let permit = admitted(gate, &mut now, call);
    gate.settle(at(now), permit, outcome);
    at(now)
}

#[test]
fn of_two_limits_only_the_one_that_caused_waits_grows() {
    let one = Quota::per_second(1).unwrap();
    let slow = AimdConfig { start: one, ceiling: one, ..AimdConfig::DEFAULT };
    let laws = [Aimd::DEFAULT, Aimd::new(slow).unwrap()];
    let mut gate: Controller<Aimd, 2> = Controller::new(Policy::of(laws), 1, at(0));
    let mut now = at(0);
    for _ in 0..200 {
        now = admit(&mut gate, now, &Call::new(), Outcome::Ok);
    }
    assert_eq!(now, at(199 * SECOND));
    let rate = |law: Aimd, state| law.pace(state, at(0), 0, false).quota.unwrap();
    let fast = rate(Aimd::DEFAULT, gate.states().next().unwrap());
    assert_eq!(fast, rate(Aimd::DEFAULT, &Aimd::DEFAULT.start(at(0))));
}

#[test]
fn one_wait_counts_for_one_call() {
    let mut gate: Controller = Controller::new(Policy::named("aimd").unwrap(), 1, at(0));
    let mut now = admit(&mut gate, at(0), &Call::new(), Outcome::Ok);
    now = admit(&mut gate, now, &Call::new(), Outcome::Ok);
    for _ in 0..100 {
        now = admit(&mut gate, at(now.as_nanos() + SECOND), &Call::new(), Outcome::Ok);
    }
    assert_eq!(gate.stats().waits, 1);
    assert_eq!(gate.stats().faster, 0);
}

#[test]
fn a_calls_own_backoff_is_not_the_law() {
    // The pacing of 100 ms ends long before the backoff of 500 ms.
    let half = Span::from_millis(500);
    let backoff = Backoff::new(Growth::Constant, Jitter::None, half, half).unwrap();
    let policy = Policy::named("aimd").unwrap().backoff(Some(backoff));
    let mut gate: Controller = Controller::new(policy, 1, at(0));
    let mut now = at(0);
    for _ in 0..100 {
        now = admit(&mut gate, now, &Call::new(), Outcome::Failed);
        let again = gate.retry(now, &Call::new(), Outcome::Failed).unwrap();
        now = admit(&mut gate, now, &again, Outcome::Ok) + half;
    }
    assert_eq!(gate.stats().faster, 0);
}

#[test]
fn the_rate_also_recovers_if_callers_do_not_wait() {
    let mut gate: Controller = Controller::new(Policy::named("aimd").unwrap(), 1, at(0));
    admit(&mut gate, at(0), &Call::new(), Outcome::Throttled);
    for millis in 1..10_000 {
        let now = at(millis * 1_000_000);
        if let Decision::Admit(permit) = gate.poll(now, &Call::new().deadline(now)) {
            gate.settle(now, permit, Outcome::Ok);
        }
    }
    assert!(gate.stats().faster > 1, "{:?}", gate.stats());
}

#[test]
fn concurrency_grows_up_to_the_available_room() {
    let eight = NonZeroU16::new(8).unwrap();
    let policy = Policy::new(AimdConcurrency::DEFAULT).concurrency(eight);
    let mut gate: Controller<AimdConcurrency> = Controller::new(policy, 1, at(0));
    let mut out = VecDeque::new();
    for _ in 0..10_000 {
        match gate.poll(at(0), &Call::new()) {
            Decision::Admit(permit) => out.push_back(permit),
            Decision::Full => gate.settle(at(0), out.pop_front().unwrap(), Outcome::Ok),
            other => panic!("{other:?}"),
        }
    }
    // One more than the policy's limit. Beyond that the law cannot notice whether it is the limit.
    assert_eq!(
        AimdConcurrency::DEFAULT
            .pace(gate.states().next().unwrap(), at(0), 0, false)
            .concurrency
            .unwrap()
            .get(),
        9
    );
}

#[test]
fn a_call_without_cost_for_a_limit_neither_waits_for_it_nor_changes_it() {
    let mut gate: Controller<Aimd, 2> = Controller::new(Policy::of([Aimd::DEFAULT; 2]), 1, at(0));
    let start = *gate.states().next().unwrap();
    admit(&mut gate, at(0), &Call::of([1, 0]), Outcome::Throttled);
    assert_ne!(*gate.states().next().unwrap(), start);
    assert_eq!(*gate.states().nth(1).unwrap(), start);
    // A law with its own reason is not checked either.
    let one = TchannelConfig { most: core::num::NonZeroU32::MIN, ..TchannelConfig::DEFAULT };
    let policy = Policy::new(Tchannel::new(one).unwrap());
    let mut gate: Controller<Tchannel> = Controller::new(policy, 1, at(0));
    admit(&mut gate, at(0), &Call::new(), Outcome::Ok);
    assert_eq!(gate.check(at(0), &Call::new()), Verdict::Wait(at(SECOND)));
    assert_eq!(gate.check(at(0), &Call::new().cost(0)), Verdict::Admit);
}

#[test]
fn a_call_without_cost_for_a_limit_ignores_its_concurrency_limit() {
    let policy = Policy::of([AnyLaw::from(Fixed::UNLIMITED), AimdConcurrency::DEFAULT.into()]);
    let mut gate: Controller<AnyLaw, 2> = Controller::new(policy, 7, at(0));
    let both = Call::new();
    while matches!(gate.poll(at(0), &both), Decision::Admit(_)) {}
    assert_eq!(gate.check(at(0), &both), Verdict::Full);
    assert_eq!(gate.check(at(0), &Call::of([1, 0])), Verdict::Admit);
}

#[test]
fn the_bounds_of_aimd_may_be_equal() {
    let (one, second) = (Quota::per_second(1).unwrap(), Span::from_secs(1));
    let cooldown = AimdCooldown { base: second, most: second, discount: 1 };
    let config = AimdConfig {
        start: one,
        floor: one,
        ceiling: one,
        cooldown: Some(cooldown),
        ..AimdConfig::DEFAULT
    };
    assert!(Aimd::new(config).is_ok());
}

/// A law that has a quota and admits nothing within this second, as a program may define one.
#[derive(Clone, Copy)]
struct Closed(Fixed);

impl Law for Closed {
    type State = ();

    fn start(&self, _: Instant) {}

    fn pace(&self, (): &(), now: Instant, in_flight: u16, is_retry: bool) -> Pace {
        Pace { rejection: Some(Reason::OverLimit), ..self.0.pace(&(), now, in_flight, is_retry) }
    }

    fn observe(&self, (): &mut (), _: &mut Pacing, _: &Sample<'_>, _: &mut Rng) -> Move {
        Move::Kept
    }
}

#[test]
fn a_call_that_can_never_fit_is_rejected_for_that_whatever_the_law_says() {
    let law = Closed(Fixed::new(Quota::per_second(1).unwrap()));
    let gate = Controller::new(Policy::new(law), 7, at(0));
    assert_eq!(gate.check(at(0), &Call::new()), Verdict::Reject(Reason::OverLimit));
    assert_eq!(gate.check(at(0), &Call::new().cost(2)), Verdict::Reject(Reason::TooBig));
}
