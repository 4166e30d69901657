//! Clocks of any age, up to the largest instant.

use tidegate::{Call, Decision, Hint, Instant, Outcome, Rng, Span, Verdict};

use super::{Gate, every_policy};
use crate::{DAY, SECOND, at};

/// Honest and false hints in turn.
fn said(turn: u64) -> (Outcome, Hint) {
    let hour = Span::from_secs(3_600);
    match turn % 11 {
        0 => (Outcome::Throttled, Hint::NONE),
        1 => (Outcome::Throttled, Hint::retry_after(Span::MAX)),
        2 => (Outcome::Busy, Hint::retry_after(Span::from_secs(2))),
        3 => (Outcome::Failed, Hint::NONE),
        4 => (Outcome::Ok, Hint::quota(u64::MAX, Span::MAX).and_remaining(0).and_reset(Span::MAX)),
        5 => (Outcome::Ok, Hint::quota(5_000, hour).and_remaining(9).and_reset(hour)),
        6 => (Outcome::Throttled, Hint::remaining(0).and_reset(hour)),
        7 => (Outcome::Abandoned, Hint::NONE),
        8 => (Outcome::Ok, Hint::remaining(3)),
        _ => (Outcome::Ok, Hint::NONE),
    }
}

/// The decisions of a client, relative to the start of its clock.
fn story(name: &str, start: u64) -> Vec<String> {
    let policy = every_policy().find(|(other, _)| *other == name).unwrap().1;
    let (mut gate, mut chance) = (Gate::new(policy, 7, at(start)), Rng::new(7));
    let (mut now, mut out, mut told) = (at(start), Vec::new(), Vec::new());
    let since = |then: Instant| (then - at(start)).as_nanos();
    for turn in 0..3_000 {
        now += chance.between(Span::ZERO, Span::from_millis(400));
        told.push(match gate.poll(now, &Call::new()) {
            Decision::Admit(permit) => {
                out.push(permit);
                "admit".to_owned()
            }
            Decision::Wait(until) => format!("wait {}", since(until)),
            other => format!("{other:?}"),
        });
        if chance.next_u32().is_multiple_of(2)
            && let Some(permit) = out.pop()
        {
            let (outcome, hint) = said(if turn % 5 == 0 { turn } else { 9 });
            gate.settle(now, permit, outcome.with(hint));
        }
        if let Verdict::Wait(until) = gate.check(now, &Call::new())
            && until > now + Span::from_secs(60)
        {
            // At most a day, so that the oldest clock does not end.
            now = until.min(now + Span::from_secs(86_400));
        }
    }
    told
}

#[test]
fn decisions_do_not_depend_on_the_age_of_the_clock() {
    let ages = [1, 1 << 22, 1 << 32, 1 << 53, u64::MAX / 2, u64::MAX - 3_000 * DAY];
    for (name, _) in every_policy() {
        let young = story(name, 10 * DAY);
        for age in ages {
            // `busy` uses the clock's seconds, so ages are whole seconds.
            let start = 10 * DAY + age / SECOND * SECOND;
            assert!(story(name, start) == young, "{name} at the age of {start} ns");
        }
    }
}
