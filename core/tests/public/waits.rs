//! How long one answer can keep a client of `adaptive` back, and what silence is taken for.

use tidegate::law::Adaptive;
use tidegate::{Ask, Controller, Decision, Hint, Outcome, Policy, Reply, Span, Verdict};

use crate::{DAY, HOUR, MILLIS, SECOND, at};

type Gate = Controller<Adaptive>;

const POLICY: Policy<Adaptive> = Policy::new(Adaptive::DEFAULT);

fn secs(count: u64) -> Span {
    Span::from_secs(count)
}

/// A call that leaves now and comes back after 50 ms; returns when that is.
fn call(gate: &mut Gate, now: u64, reply: impl Into<Reply>) -> u64 {
    let Decision::Go(permit) = gate.poll(at(now), &Ask::new()) else { panic!("has to wait") };
    gate.settle(at(now + 50 * MILLIS), permit, reply);
    now + 50 * MILLIS
}

fn wait(gate: &Gate, now: u64) -> u64 {
    match gate.check(at(now), &Ask::new()) {
        Verdict::Go => 0,
        Verdict::Wait(until) => until.as_nanos() - now,
        other => panic!("{other:?}"),
    }
}

fn interval(gate: &Gate, now: u64) -> u64 {
    gate.intervals(at(now)).next().unwrap().map_or(0, Span::as_nanos)
}

/// A client alone at a server of ten calls a second, told nothing, for ten minutes.
fn paced() -> (Gate, u64) {
    let (mut gate, mut now) = (Gate::new(POLICY, 7, at(0)), 0);
    let (mut level, mut latest) = (10 * SECOND, 0);
    while now < 600 * SECOND {
        now += wait(&gate, now);
        level = (level + (now - latest) * 10).min(10 * SECOND);
        latest = now;
        let served = level >= SECOND;
        level -= if served { SECOND } else { 0 };
        now = call(&mut gate, now, if served { Outcome::Ok } else { Outcome::Throttled });
    }
    assert!((80 * MILLIS..130 * MILLIS).contains(&interval(&gate, now)));
    (gate, now)
}

fn later(wish: u64) -> Reply {
    Outcome::Throttled.with(Hint::retry_after(secs(wish)))
}

#[test]
fn a_first_call_that_is_refused_after_days_waits_for_about_what_it_was_asked() {
    for seed in 0..50 {
        let mut gate = Gate::new(POLICY, seed, at(0));
        let now = call(&mut gate, 3 * DAY, later(2));
        assert!((2 * SECOND..5 * SECOND).contains(&wait(&gate, now)), "{}", wait(&gate, now));
        assert!(interval(&gate, now) < 5 * SECOND);
    }
}

#[test]
fn a_night_without_calls_does_not_count_as_a_slow_server() {
    let (mut gate, now) = paced();
    let now = call(&mut gate, now + 8 * HOUR, later(30));
    assert!((30 * SECOND..36 * SECOND).contains(&wait(&gate, now)));
    // Until a probe is served, its interval is eight times the learnt one.
    assert!(interval(&gate, now) < 2 * SECOND, "{}", interval(&gate, now));
}

#[test]
fn a_refusal_right_after_a_restart_does_not_undo_what_the_snapshot_kept() {
    let (gate, now) = paced();
    let mut record = [0; Gate::SNAPSHOT_BYTES];
    gate.snapshot(at(now), &mut record).unwrap();
    let mut gate = Gate::restore(POLICY, 8, &record, at(now + 8 * HOUR), secs(8 * 3_600)).unwrap();
    let now = call(&mut gate, now + 8 * HOUR, later(30));
    assert!((30 * SECOND..36 * SECOND).contains(&wait(&gate, now)));
    // Until a probe is served, its interval is eight times the learnt one.
    assert!(interval(&gate, now) < 2 * SECOND, "{}", interval(&gate, now));
}

#[test]
fn an_outage_that_tells_when_to_come_back_is_no_measurement() {
    let (mut gate, mut now) = paced();
    let before = interval(&gate, now);
    for _ in 0..20 {
        now += wait(&gate, now);
        let wish = Outcome::Busy.with::<1>(Hint::retry_after(secs(30)));
        now = call(&mut gate, now, wish);
    }
    for _ in 0..10 {
        if let Decision::Wait(until) = gate.poll(at(now), &Ask::new()) {
            now = until.as_nanos();
        }
        now = call(&mut gate, now, Outcome::Ok);
    }
    let after = interval(&gate, now);
    assert!(after < before * 5 / 4, "{before} ns, and {after} ns after ten minutes");
}

#[test]
fn what_was_asked_for_wins_over_the_end_of_the_period() {
    // GitHub's secondary limit: a minute, with most of the hour's calls left.
    let told = |left| Hint::remaining(left).and_limit(5_000).and_reset(secs(3_000));
    let mut gate = Gate::new(POLICY, 7, at(0));
    let now = call(&mut gate, 0, Outcome::Ok.with(told(4_999)));
    let now = now + wait(&gate, now);
    let secondary = told(4_998).and_retry_after(secs(60));
    let now = call(&mut gate, now, Outcome::Throttled.with(secondary));
    assert!((60 * SECOND..70 * SECOND).contains(&wait(&gate, now)), "{}", wait(&gate, now));
}

#[test]
fn whatever_a_server_tells_of_a_period_it_is_asked_again() {
    let year = secs(365 * 86_400);
    for hint in [
        Hint::quota(1_000, year).and_remaining(1).and_reset(year),
        Hint::quota(1, Span::MAX).and_remaining(1).and_reset(Span::MAX),
        Hint::quota(1, Span::MAX).and_remaining(0).and_reset(Span::MAX),
        Hint::quota(u64::MAX, secs(60)).and_remaining(0).and_reset(secs(60)),
        Hint::remaining(1).and_limit(5).and_reset(Span::MAX),
        Hint::quota(1, Span::MAX).and_remaining(0),
        Hint::quota(1, secs(86_400)).and_remaining(0),
        Hint::quota(5, year).and_remaining(2),
        Hint::remaining(0).and_limit(5).and_reset(Span::MAX).and_retry_after(Span::MAX),
    ] {
        for outcome in [Outcome::Ok, Outcome::Throttled, Outcome::Busy] {
            for seed in 0..50 {
                let mut gate = Gate::new(POLICY, seed, at(0));
                let now = call(&mut gate, DAY, outcome.with(hint));
                let most = if outcome == Outcome::Ok { DAY * 5 / 4 } else { 2 * HOUR };
                assert!(wait(&gate, now) <= most, "{outcome:?} {hint:?}: {}", wait(&gate, now));
                // A call of which nothing is heard teaches nothing, and the next is as near.
                let due = now + wait(&gate, now);
                let mut now = call(&mut gate, due, Outcome::Abandoned);
                assert!(wait(&gate, now) <= DAY * 5 / 4, "{outcome:?} {hint:?}");
                // Nor does it help the server to say it again and again.
                for _ in 0..40 {
                    let due = now + wait(&gate, now);
                    now = call(&mut gate, due, Outcome::Ok.with(hint));
                    assert!(wait(&gate, now) <= DAY * 5 / 4, "{hint:?}: {}", wait(&gate, now));
                }
            }
        }
    }
}

#[test]
fn a_client_that_is_told_now_of_one_limit_and_now_of_another_uses_its_day() {
    let (mut gate, mut now) = (Gate::new(POLICY, 7, at(0)), 0);
    let (mut second, mut left, mut day) = (0, 10, 1_000);
    while now < DAY {
        if now / SECOND != second {
            (second, left) = (now / SECOND, 10);
        }
        let served = left > 0 && day > 0;
        (left, day) = if served { (left - 1, day - 1) } else { (left, day) };
        // The one of which less is left.
        let hint = if left * 100 < day {
            Hint::quota(10, secs(1)).and_remaining(left).and_reset(secs(1))
        } else {
            Hint::quota(1_000, secs(86_400)).and_remaining(day).and_reset(secs(86_400 - second))
        };
        let outcome = if served { Outcome::Ok } else { Outcome::Throttled };
        now = call(&mut gate, now, outcome.with(hint));
        now += wait(&gate, now);
    }
    assert!(day <= 50, "{day} of 1000 left");
}

#[test]
fn a_client_that_comes_back_within_a_period_has_what_is_left_and_not_what_it_began_with() {
    // Alone, and restarted when 600 of its 5000 calls were gone: most of the rest is its own.
    let (mut gate, mut now) = (Gate::new(POLICY, 7, at(0)), 0);
    let (end, mut left) = (3_000 * SECOND, 4_400);
    while now < end && left > 0 {
        left -= 1;
        let reset = Span::from_nanos(end - now);
        let hint = Hint::remaining(left).and_limit(5_000).and_reset(reset);
        now = call(&mut gate, now, Outcome::Ok.with(hint));
        now += wait(&gate, now);
    }
    assert!(left <= 600, "{left} of 4400 left");
}

#[test]
fn a_late_timer_slows_no_fast_client_down() {
    // A server of 2000 calls a second, and a client that only ever acts when its timer fires.
    const RATE: u64 = 2_000;
    const MOST: u64 = RATE / 10 * SECOND;
    const HALF: u64 = 30;
    for timer in [100_000, MILLIS, 2 * MILLIS] {
        let (mut gate, mut level, mut served) = (Gate::new(POLICY, 7, at(0)), MOST, 0);
        let mut in_flight = Vec::new();
        for now in (0..2 * HALF * SECOND).step_by(usize::try_from(timer).unwrap()) {
            level = (level + timer * RATE).min(MOST);
            for (permit, outcome) in in_flight.drain(..) {
                gate.settle(at(now), permit, outcome);
            }
            while let Decision::Go(permit) = gate.poll(at(now), &Ask::new()) {
                let fits = level >= SECOND;
                level -= if fits { SECOND } else { 0 };
                served += u64::from(fits && now >= HALF * SECOND);
                in_flight.push((permit, if fits { Outcome::Ok } else { Outcome::Throttled }));
            }
        }
        let possible = RATE * HALF;
        assert!(served * 100 >= possible * 95, "{served} of {possible} with a timer of {timer} ns");
    }
}
