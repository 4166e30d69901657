//! A controller without costs decides as one whose calls cost one each.

use proptest::prelude::*;
use tidegate::{
    Call, Controller, Costs, Decision, Hint, Instant, Outcome, Policy, Rng, Single, Span,
};

use crate::{MILLIS, SECOND};

/// Plays random calls, and writes down each decision and the rate after it.
fn play<C: Costs<1>>(
    mut gate: Controller<tidegate::law::AnyLaw, 1, Policy, C>,
    seed: u64,
) -> Vec<String> {
    let (mut dice, mut now, mut waiting) = (Rng::new(seed), Instant::ZERO, Vec::new());
    let mut log = Vec::new();
    let mut call = Call::new();
    for _ in 0..400 {
        now += Span::from_nanos(u64::from(dice.next_u32()) % (50 * MILLIS));
        match gate.poll(now, &call) {
            Decision::Admit(permit) => {
                log.push(format!("{:?} {}", permit.sent(), permit.attempt()));
                waiting.push((permit, call));
            }
            Decision::Wait(until) => {
                log.push(format!("{until:?} {:?}", gate.why(now, &call)));
                now = until.min(now + Span::from_nanos(60 * SECOND));
            }
            other => log.push(format!(
                "{other:?} {:?} {:?}",
                gate.next_at(now),
                gate.ready_at(now, &call)
            )),
        }
        call = Call::new();
        let roll = dice.next_u32();
        if roll.is_multiple_of(3) && !waiting.is_empty() {
            let (permit, sent) = waiting.swap_remove(roll as usize / 3 % waiting.len());
            let hint = [
                Hint::NONE,
                Hint::retry_after(Span::from_millis(u64::from(roll >> 20))),
                Hint::remaining(u64::from(roll >> 28)),
                Hint::quota(40, Span::from_secs(1)).and_remaining(u64::from(roll >> 27)),
            ][roll as usize >> 8 & 3];
            let outcomes = [
                Outcome::Ok,
                Outcome::Ok,
                Outcome::Throttled,
                Outcome::Busy,
                Outcome::Failed,
                Outcome::Exhausted,
                Outcome::Abandoned,
                Outcome::Ok,
            ];
            let outcome = outcomes[roll as usize >> 16 & 7];
            if roll & 0x4000 == 0 {
                gate.settle(now, permit, outcome.with(hint));
                call = gate.retry(now, &sent, outcome.with(hint)).unwrap_or(call);
            } else {
                gate.refund(now, permit);
            }
        }
        log.push(format!("{:?}", gate.states().collect::<Vec<_>>()));
    }
    log
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_controller_without_costs_decides_as_one_whose_calls_cost_one(
        seed: u64, name in prop::sample::select(Policy::NAMES),
    ) {
        let policy = Policy::named(name).unwrap();
        let with_costs = play(Controller::new(policy, seed, Instant::ZERO), seed);
        let without = play(Single::with_rng(policy, Rng::new(seed), Instant::ZERO), seed);
        prop_assert_eq!(with_costs, without);
    }
}
