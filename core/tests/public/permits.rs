//! The life of a permit: learning, corrections, retries, and refunds of calls that were not sent.

use core::num::NonZeroU16;
use std::collections::VecDeque;

use tidegate::gate::RetryBudgetPolicy;
use tidegate::law::{
    Adaptive, Aimd, AimdConfig, AnyLaw, Fixed,
    published::{Over, Tchannel, TchannelConfig},
};
use tidegate::{
    Call, Controller, Decision, Hint, Instant, Outcome, Policy, Quota, Ratio, Reason, Retry, Rng,
    Span, Verdict,
};

use crate::client::admitted;
use crate::{MILLIS, at};

const START: Instant = Instant::from_nanos(1_000_000_000);

/// A gate that has made some calls, every third of which was throttled, and when the next one may
/// be sent.
fn used(name: &str) -> (Controller, Instant) {
    let mut gate = Controller::new(Policy::named(name).unwrap(), 7, START);
    let mut now = START.as_nanos();
    for call in 1..=12 {
        let permit = admitted(&mut gate, &mut now, &Call::new());
        now += 20 * MILLIS;
        gate.settle(at(now), permit, if call % 3 == 0 { Outcome::Throttled } else { Outcome::Ok });
    }
    while let Verdict::Wait(until) = gate.check(at(now), &Call::new()) {
        now = until.as_nanos();
    }
    (gate, at(now))
}

#[test]
fn every_law_refunds_the_whole_cost_of_a_call() {
    for name in Policy::NAMES {
        let (mut gate, mut now) = used(name);
        let mut untouched = gate.clone();
        // `adaptive` has drawn when the next call is due. An eighth of an interval of that draw remains.
        let interval = gate.intervals(now).next().flatten().filter(|_| *name == "adaptive");
        let most = Span::from_nanos(interval.map_or(0, Span::as_nanos) / 8);
        for _ in 0..50 {
            match gate.poll(now, &Call::new()) {
                Decision::Admit(permit) => gate.refund(now, permit),
                Decision::Wait(until) if until <= now + most => now = until,
                other => panic!("{name}: a call that was not sent delays others: {other:?}"),
            }
        }
        let later = now + most;
        assert_eq!(gate.in_flight(), 0, "{name}");
        assert!(gate.intervals(later).eq(untouched.intervals(later)), "{name}");
        let Decision::Admit(_) = gate.poll(later, &Call::new()) else { panic!("{name}") };
        let Decision::Admit(_) = untouched.poll(later, &Call::new()) else { panic!("{name}") };
        assert_eq!(gate.stats().slower, untouched.stats().slower, "{name}");
        assert_eq!(gate.stats().faster, untouched.stats().faster, "{name}");
    }
}

/// The bucket has drained in the meantime, and has admitted others for that.
#[test]
fn permits_that_are_kept_renewed_and_refunded_exceed_no_rate() {
    for seed in 0..300 {
        let mut rng = Rng::new(seed);
        let mut below = |most: u32| rng.next_u32() % most;
        let (count, burst) = (1 + below(50), 1 + below(8));
        let quota = Quota::per_second(count.into()).unwrap().with_burst(burst).unwrap();
        let mut gate: Controller<Fixed> = Controller::new(Policy::new(Fixed::new(quota)), 7, START);
        let (mut now, mut kept) = (START, VecDeque::new());
        // In billionths of a call; timers may be 2 ms late.
        let (mut level, mut last, mut sent) = (0u64, START, 0);
        let full = (u64::from(burst) * 1_000 + u64::from(count) * 2) * 1_000_000;
        for _ in 0..2_000 {
            now += Span::from_micros(u64::from(below(1_500_000 / count)));
            let old = if below(2) == 0 { kept.pop_front() } else { None };
            let permit = match old {
                Some(permit) if below(2) == 0 => {
                    gate.refund(now, permit);
                    None
                }
                Some(permit) => gate.renew(now, permit, &Call::new()),
                None => match gate.poll(now, &Call::new()) {
                    Decision::Admit(permit) => Some(permit),
                    _ => None,
                },
            };
            let Some(permit) = permit else { continue };
            if kept.len() < 4 && below(3) > 0 {
                kept.push_back(permit);
                continue;
            }
            let drained = (now - last).as_nanos() * u64::from(count);
            level = level.saturating_sub(drained) + 1_000_000_000;
            assert!(
                level <= full,
                "seed {seed}: {sent} calls, then one too early: {level} of {full}"
            );
            (last, sent) = (now, sent + 1);
            gate.settle(now, permit, Outcome::Ok);
        }
        assert!(sent > 100, "seed {seed}: {sent}");
    }
}

#[test]
fn a_call_with_a_response_is_not_refunded() {
    let mut gate: Controller = Controller::new(Policy::named("fixed").unwrap(), 7, START);
    let Decision::Admit(mut permit) = gate.poll(START, &Call::new()) else { panic!() };
    gate.learn(START, &mut permit, Outcome::Ok);
    gate.refund(START, permit);
    assert!(matches!(gate.poll(START, &Call::new()), Decision::Wait(_)));
    assert_eq!((gate.in_flight(), gate.stats().abandoned), (0, 0));
}

#[test]
fn learning_at_the_headers_is_settling_except_for_the_place() {
    for name in Policy::NAMES {
        let (mut one, now) = used(name);
        let mut two = one.clone();
        let Decision::Admit(a) = one.poll(now, &Call::new()) else { panic!("{name}") };
        let Decision::Admit(mut b) = two.poll(now, &Call::new()) else { panic!("{name}") };
        let headers = now + Span::from_millis(40);
        let throttled = Outcome::Throttled.with(Hint::retry_after(Span::from_secs(2)));
        one.settle(headers, a, throttled);
        two.learn(headers, &mut b, throttled);
        two.learn(headers, &mut b, Outcome::Throttled); // A second response has no effect.
        assert_eq!((one.in_flight(), two.in_flight()), (0, 1), "{name}");
        two.release(b);
        assert_eq!(one, two, "{name}");
    }
}

#[test]
fn a_retry_that_was_not_sent_is_refunded_to_the_budget() {
    let retry_budget = RetryBudgetPolicy::new(Ratio::HALF, 1).unwrap();
    let policy = Policy::named("none").unwrap().retry_budget(Some(retry_budget));
    let mut gate: Controller = Controller::new(policy, 7, START);
    let Decision::Admit(first) = gate.poll(START, &Call::new()) else { panic!() };
    assert_eq!(first.attempt(), 0);
    gate.refund(START, first);
    let retry = gate.retry(START, &Call::new(), Outcome::Failed).unwrap();
    for _ in 0..3 {
        let Decision::Admit(permit) = gate.poll(START, &retry) else { panic!("it was paid for") };
        assert_eq!(permit.attempt(), 1);
        gate.refund(START, permit);
    }
    let Decision::Admit(_) = gate.poll(START, &retry) else { panic!() };
    // A first attempt that was not sent pays for no retry.
    let Decision::Admit(first) = gate.poll(START, &Call::new()) else { panic!() };
    gate.refund(START, first);
    assert_eq!(gate.poll(START, &retry), Decision::Reject(Reason::RetryBudget));
}

#[test]
fn a_refunded_call_that_waited_leaves_its_wait_to_the_next_one() {
    let config = AimdConfig { every: 1, ..AimdConfig::DEFAULT };
    for another_waits in [false, true] {
        let law = Aimd::new(config).unwrap();
        let mut gate: Controller<Aimd> = Controller::new(Policy::new(law), 7, START);
        let Decision::Admit(_) = gate.poll(START, &Call::new()) else { panic!() };
        let Decision::Wait(then) = gate.poll(START, &Call::new()) else { panic!() };
        let Decision::Admit(waited) = gate.poll(then, &Call::new()) else { panic!() };
        if another_waits {
            assert!(matches!(gate.poll(then, &Call::new()), Decision::Wait(_)));
        }
        gate.refund(then, waited);
        let Decision::Admit(next) = gate.poll(then, &Call::new()) else { panic!() };
        gate.settle(then, next, Outcome::Ok);
        assert_eq!(gate.stats().faster, 1, "{another_waits}");
    }
}

#[test]
fn a_permit_is_renewed_if_nothing_else_was_sent() {
    let mut gate: Controller = Controller::new(Policy::named("fixed").unwrap(), 7, START);
    let Decision::Admit(permit) = gate.poll(START, &Call::new()) else { panic!() };
    let later = START + Span::from_millis(30);
    let permit = gate.renew(later, permit, &Call::new()).unwrap();
    assert_eq!((permit.sent(), gate.stats().admitted), (later, 1));
}

#[test]
fn a_cost_is_corrected_once_its_response_was_learned_from_and_from_what_that_said() {
    let law =
        |each: u32| Fixed::new(Quota::per_second(each.into()).unwrap().with_burst(100).unwrap());
    let mut gate: Controller<Fixed, 2> = Controller::new(Policy::of([10, 100].map(law)), 7, START);
    let has_room_for = |gate: &Controller<Fixed, 2>, tokens| {
        gate.check(START, &Call::of([1, tokens])) == Verdict::Admit
    };
    let Decision::Admit(mut permit) = gate.poll(START, &Call::of([1, 90])) else { panic!() };
    gate.correct(START, &mut permit, [None, Some(20)]);
    assert!(!has_room_for(&gate, 11), "there was no response");
    gate.learn(START, &mut permit, Outcome::Ok.using([1, 70]));
    gate.learn(START, &mut permit, Outcome::Ok.using([1, 10]));
    gate.correct(START, &mut permit, [None, Some(60)]);
    assert!(has_room_for(&gate, 40) && !has_room_for(&gate, 41), "100 less 60 are left");
}

#[test]
fn a_limit_that_a_call_does_not_use_is_not_affected_by_its_refund_and_does_not_delay_it() {
    let aimd = Aimd::new(AimdConfig { every: 1, ..AimdConfig::DEFAULT }).unwrap();
    let (both, first) = (Call::of([1, 1]), Call::of([1, 0]));
    let laws = |second: AnyLaw| Policy::of([Fixed::UNLIMITED.into(), second]);
    let mut gate: Controller<AnyLaw, 2> = Controller::new(laws(aimd.into()), 7, START);
    let Decision::Admit(_) = gate.poll(START, &both) else { panic!() };
    let Decision::Wait(then) = gate.poll(START, &both) else { panic!() };
    let Decision::Admit(kept) = gate.poll(START, &first) else { panic!() };
    let Decision::Admit(_) = gate.poll(then, &both) else { panic!() };
    gate.refund(then, kept);
    let later = then + Span::from_secs(10);
    let Decision::Admit(permit) = gate.poll(later, &both) else { panic!() };
    gate.settle(later, permit, Outcome::Ok);
    assert_eq!(gate.stats().faster, 0, "it did not wait");

    let mut gate: Controller<AnyLaw, 2> = Controller::new(laws(Adaptive::DEFAULT.into()), 7, START);
    while let Decision::Admit(_) = gate.poll(START, &both) {}
    assert!(gate.ready_at(START, &both) > Some(START));
    assert_eq!(gate.ready_at(START, &first), Some(START), "there is room");
}

#[test]
fn a_retry_that_is_not_paid_for_is_rejected_for_that_unless_it_can_never_be_sent() {
    let config = TchannelConfig { over: Over::Reject, ..TchannelConfig::DEFAULT };
    let retry_budget = RetryBudgetPolicy::new(Ratio::HALF, 1).unwrap();
    let fixed = Fixed::new(Quota::per_second(1).unwrap());
    for law in [Tchannel::new(config).unwrap().into(), fixed.into()] {
        let policy: Policy = Policy::new(law).backoff(None).retry_budget(Some(retry_budget));
        let mut gate: Controller = Controller::new(policy, 7, START);
        let retry = gate.retry(START, &Call::new(), Outcome::Failed).unwrap();
        let Decision::Admit(_) = gate.poll(START, &retry) else { panic!("it was paid for") };
        while let Decision::Admit(permit) = gate.poll(START, &Call::new()) {
            gate.settle(START, permit, Outcome::Abandoned);
        }
        let over = gate.poll(START, &Call::new());
        assert!(matches!(over, Decision::Reject(Reason::OverLimit) | Decision::Wait(_)));
        assert_eq!(gate.poll(START, &retry), Decision::Reject(Reason::RetryBudget), "{law:?}");
        if let AnyLaw::Fixed(_) = law {
            assert_eq!(gate.poll(START, &retry.cost(1_000)), Decision::Reject(Reason::TooBig));
        }
    }
}

#[test]
fn a_call_that_is_not_retried_has_a_reason() {
    let mut gate: Controller = Controller::new(Policy::named("none").unwrap(), 7, START);
    let mut call = Call::new();
    assert_eq!(gate.retry(START, &call, Outcome::Ok), Err(Reason::Final));
    let no = Outcome::Busy.with::<1>(Hint::NONE.and_no_retry());
    assert_eq!(gate.retry(START, &call, no), Err(Reason::Final));
    for _ in 1..Policy::ATTEMPTS.get() {
        call = gate.retry(START, &call, Outcome::Busy).unwrap();
    }
    assert_eq!(gate.retry(START, &call, Outcome::Busy), Err(Reason::Attempts));
}

#[test]
fn a_call_is_tried_again_only_after_the_outcomes_that_it_permits() {
    let mut invites = Hint::NONE;
    invites.may_repeat = true;
    let plain = [Outcome::Throttled, Outcome::Busy, Outcome::Failed].map(|it| it.with(Hint::NONE));
    let [failed, busy] = [Outcome::Failed, Outcome::Busy].map(|it| (1, it.with(invites)));
    let replies = [(0, plain[0]), failed, busy, (2, plain[1]), (3, plain[2])];
    let most = [Retry::Throttled, Retry::Invited, Retry::Rejected, Retry::Failed];
    for (count, retry) in most.into_iter().enumerate() {
        for (at, reply) in replies {
            let mut gate: Controller = Controller::new(Policy::named("none").unwrap(), 7, START);
            let next = gate.retry(START, &Call::new().retry(retry), reply);
            assert_eq!(next.map(|next| next.retried_after()).ok(), (at <= count).then_some(retry));
            assert!(at <= count || next == Err(Reason::Unsafe));
            let once = gate.retry(START, &Call::new().retry(Retry::Never), reply);
            assert_eq!(once, Err(Reason::Attempts));
        }
    }
}

#[test]
fn a_queued_call_is_polled_like_others_as_the_first_and_waits_behind_it() {
    for name in Policy::NAMES {
        let (mut gate, now) = used(name);
        gate.set_policy(Policy::named(name).unwrap().concurrency(NonZeroU16::MIN), now);
        for deadline in [Instant::MAX, now, START].repeat(3) {
            let call = Call::new().deadline(deadline);
            let (mut first, mut permit, due) = (gate.clone(), None, gate.due_first(now, &call));
            let late = (due > deadline).then_some(Verdict::Reject(Reason::Late(due)));
            let behind = gate.clone().poll_queued(now, &call, false, &mut permit);
            assert_eq!((behind, &permit), (late.unwrap_or(Verdict::Wait(due)), &None), "{name}");
            let expected = match gate.check(now, &call) {
                Verdict::Full => Verdict::Wait(gate.ready_at(now, &call).unwrap_or(Instant::MAX)),
                verdict => verdict,
            };
            assert_eq!(first.poll_queued(now, &call, true, &mut permit), expected, "{name}");
            let polled = Some(gate.poll(now, &call)).filter(|it| matches!(it, Decision::Admit(_)));
            assert_eq!((permit.map(Decision::Admit), first), (polled, gate.clone()), "{name}");
        }
    }
}

#[test]
fn a_permit_of_another_controller_changes_nothing() {
    for name in Policy::NAMES {
        let (mut gate, now) = used(name);
        let Decision::Admit(_own) = gate.poll(now, &Call::new()) else { panic!("{name}") };
        let before = gate.clone();
        let mut other: Controller = Controller::new(Policy::named("none").unwrap(), 8, now);
        let mut foreign = || match other.poll(now, &Call::new()) {
            Decision::Admit(permit) => permit,
            decision => panic!("{decision:?}"),
        };
        let throttled = Outcome::Throttled.with(Hint::retry_after(Span::from_secs(60)));
        gate.settle(now, foreign(), throttled);
        gate.refund(now, foreign());
        gate.release(foreign());
        let mut permit = foreign();
        gate.learn(now, &mut permit, throttled.using([9]));
        gate.correct(now, &mut permit, [Some(5)]);
        assert_eq!(gate, before, "{name}");
    }
}

#[test]
#[cfg(debug_assertions)]
#[should_panic = "a retry budget needs calls with costs"]
fn a_controller_without_costs_rejects_a_retry_budget_in_debug_builds() {
    let budget = RetryBudgetPolicy::new(Ratio::HALF, 1).ok();
    let policy = Policy::new(Fixed::UNLIMITED).retry_budget(budget);
    let _ = tidegate::Single::with_rng(policy, Rng::new(7), Instant::ZERO);
}
