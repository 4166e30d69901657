//! A law chosen at run time decides as the law itself does.
#![allow(missing_docs, reason = "a test")]

use core::num::NonZeroU32;

use tidegate::law::{
    Aimd, AnyLaw, Busy, BusyConfig, Crowd, Cubic, Fixed, Law, Proportional, Responsive, Vegas,
};
use tidegate::{Ask, Controller, Decision, Instant, Outcome, Policy, Quota, Rng, Span, Stats};

/// A few callers, a clock in random steps and random outcomes; returns each answer, and the counters.
fn life<L: Law + Copy>(law: L, seed: u64) -> (Vec<String>, Stats) {
    let mut gate: Controller<L> = Controller::new(Policy::new(law), seed, Instant::ZERO);
    let mut chance = Rng::new(seed);
    let mut now = Instant::ZERO;
    let mut out = Vec::new();
    let mut answers = Vec::new();
    for _ in 0..2_000 {
        now = now.saturating_add(chance.between(Span::ZERO, Span::from_millis(100)));
        let decision = gate.poll(now, &Ask::new());
        answers.push(format!("{decision:?}"));
        if let Decision::Go(permit) = decision {
            out.push(permit);
        }
        if chance.next_u32().is_multiple_of(2)
            && let Some(permit) = out.pop()
        {
            let outcome = match chance.next_u32() % 8 {
                0 => Outcome::Throttled,
                1 => Outcome::Busy,
                2 => Outcome::Failed,
                _ => Outcome::Ok,
            };
            gate.settle(now, permit, outcome);
        }
    }
    (answers, *gate.stats())
}

fn compare<L: Law + Copy + Into<AnyLaw>>(law: L) {
    for seed in 0..5 {
        let (itself, chosen) = (life(law, seed), life(law.into(), seed));
        assert!(itself.1.waits.max(itself.1.full) > 0, "it never kept a call back: {:?}", itself.1);
        assert_eq!(itself, chosen);
    }
}

#[test]
fn each_law_is_itself_when_it_is_chosen_at_run_time() {
    let few = NonZeroU32::MIN.saturating_add(2);
    compare(Aimd::DEFAULT);
    compare(Busy::new(BusyConfig { most: few, ..BusyConfig::DEFAULT }).expect("a limit of three"));
    compare(Crowd::DEFAULT);
    compare(Cubic);
    compare(Fixed::new(Quota::per_second(10).expect("a quota")));
    compare(Proportional::DEFAULT);
    compare(Responsive::DEFAULT);
    compare(Vegas);
}
