//! Clocks of any age, up to the largest instant.

use tidegate::{Call, Decision, Hint, Instant, Outcome, Rng, Span, Verdict};

use super::{Gate, every_policy};
use crate::{DAY, MILLIS, SECOND, at};

/// The sleep of the gem's strategies is unbounded, as documented: with endless throttled calls it
/// grows endlessly. So these clients are always served.
const UNBOUNDED: [&str; 3] = ["heroku-gradual", "heroku-proportional", "heroku-remaining"];

/// A visit every three weeks.
const PAUSE: u64 = 21 * DAY;

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

/// Makes up to eight calls from `now` on, waiting if necessary, and loses the permit of one until the next visit. The
/// server replies as `turn` says, or serves all. Returns the longest wait and how many calls were
/// sent.
fn visit(gate: &mut Gate, mut now: Instant, turn: Option<u64>) -> (u64, u32) {
    let (mut longest, mut admitted, mut call) = (0, 0, Call::new());
    for step in 0..24 {
        match gate.poll(now, &call) {
            Decision::Admit(permit) => {
                admitted += 1;
                if step == 7 {
                    continue; // it is never answered
                }
                now += Span::from_nanos(70 * MILLIS);
                let (outcome, hint) =
                    turn.map_or((Outcome::Ok, Hint::NONE), |turn| said(turn + step));
                let reply = outcome.with::<1>(hint);
                gate.settle(now, permit, reply);
                call = gate.retry(now, &call, reply).unwrap_or_default();
            }
            Decision::Wait(until) => {
                assert!(until > now, "a wait is never zero");
                if (until - now).as_nanos() > PAUSE {
                    break; // until the next visit
                }
                longest = longest.max((until - now).as_nanos());
                now = until;
            }
            Decision::Full => match gate.next_at(now) {
                Some(next) => now = next.max(now),
                None => gate.forget(1),
            },
            Decision::Reject(_) => call = Call::new(),
        }
        if admitted == 8 {
            break;
        }
    }
    (longest, admitted)
}

#[test]
fn every_law_and_gate_admits_calls_for_584_years() {
    for (name, policy) in every_policy() {
        let (mut gate, mut visits, mut longest) = (Gate::new(policy, 7, at(0)), 0, 0);
        let mut dry = 0;
        for start in (0..u64::MAX - PAUSE).step_by(PAUSE as usize) {
            let turn = (!UNBOUNDED.contains(&name)).then_some(visits);
            if visits % 100 == 99 {
                // It moves to a clock that has just started, as in a restart, and back.
                for there in [0, start] {
                    let mut record = [0; Gate::SNAPSHOT_BYTES];
                    let now = if there == 0 { start } else { 0 };
                    gate.snapshot(at(now), &mut record).unwrap();
                    gate = Gate::restore(policy, visits, &record, at(there), Span::ZERO).unwrap();
                }
            }
            let (wait, admitted) = visit(&mut gate, at(start), turn);
            // `adaptive` learns intervals of up to 52 days from throttled calls, which occur at any
            // rate here.
            dry = if admitted > 0 { 0 } else { dry + 1 };
            assert!(dry < 30, "{name}: nothing left in the year {}", start / (365 * DAY));
            (longest, visits) = (longest.max(wait), visits + 1);
        }
        assert!(visits > 10_000, "{visits}");
        let most = if name == "adaptive" { PAUSE } else { DAY * 5 / 4 };
        assert!(longest <= most, "{name}: one wait took {} s", longest / SECOND);
        assert!(gate.in_flight() <= 8, "{name}: {} calls in flight", gate.in_flight());
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
