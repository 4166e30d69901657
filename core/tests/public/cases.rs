//! Cases of a controller that no client of the oracle's vectors comes to.

use tidegate::backoff::{Backoff, Growth, Jitter};
use tidegate::gate::{Gate, WindowPolicy};
use tidegate::law::{Aimd, AimdConfig, Fixed, Law, Over, Tchannel, TchannelConfig};
use tidegate::{
    Ask, Controller, Decision, Hint, Instant, Outcome, Policy, Quota, Reason, Span, Verdict,
};

use crate::{SECOND, at};

fn after(now: Instant, nanos: u64) -> Instant {
    now.saturating_add(Span::from_nanos(nanos))
}

#[test]
fn a_full_window_does_not_hide_that_the_wait_behind_it_is_too_long() {
    let window = WindowPolicy::new(1, Span::from_secs(300)).unwrap();
    let law = Fixed::new(Quota::per_minute(1).unwrap());
    let mut gate: Controller<Fixed> = Controller::new(Policy::new(law).window(window), 1, at(0));
    assert!(matches!(gate.poll(at(0), &Ask::new()), Decision::Go(_)));
    let (soon, later) = (at(59 * SECOND), at(60 * SECOND));
    let late = Verdict::Refuse(Reason::Late(later));
    assert_eq!(gate.check(at(0), &Ask::new().deadline(soon)), late);
    assert_eq!(gate.why(at(0), &Ask::new().deadline(soon)), Some(Gate::Pace));
    assert_eq!(gate.check(at(0), &Ask::new().deadline(later)), Verdict::Full);
}

#[test]
fn time_that_has_passed_drained_at_the_old_rate() {
    let law = Aimd::new(AimdConfig { pause: None, ..AimdConfig::DEFAULT }).unwrap();
    let mut gate: Controller<Aimd> = Controller::new(Policy::new(law), 1, at(0));
    let Decision::Go(permit) = gate.poll(at(0), &Ask::new()) else { panic!() };
    // Of the 100 ms between calls 60 have passed; the other 40 take twice as long at half the rate.
    let millis = |millis: u64| at(millis * SECOND / 1_000);
    gate.settle(millis(60), permit, Outcome::Throttled);
    assert_eq!(gate.check(millis(60), &Ask::new()), Verdict::Wait(millis(142)));
}

#[test]
fn a_laws_window_is_the_window_where_it_is_the_narrower_one() {
    let window = |limit| WindowPolicy::new(limit, Span::from_secs(30)).unwrap();
    for (limit, expected) in [(2, 2), (4, 4), (100, 4)] {
        let policy = Policy::named("aimd-concurrency").unwrap().window(window(limit));
        let mut gate: Controller = Controller::new(policy, 1, at(0));
        while let Decision::Go(_) = gate.poll(at(0), &Ask::new()) {}
        assert_eq!(gate.in_flight(), expected);
        assert_eq!(gate.poll(at(0), &Ask::new()), Decision::Full);
    }
}

#[test]
fn the_time_for_retries_runs_from_the_first_failure() {
    let backoff =
        Backoff::new(Growth::Constant, Jitter::None, Span::from_secs(2), Span::from_secs(2));
    let policy = Policy::named("none")
        .unwrap()
        .backoff(Some(backoff.unwrap()))
        .elapsed(Some(Span::from_secs(4)));
    let mut gate: Controller = Controller::new(policy, 1, at(0));
    // The first attempt takes a minute to fail; the time begins then.
    let mut now = at(60 * SECOND);
    let mut ask = Ask::new();
    let mut retries = 0;
    while let Ok(next) = gate.retry(now, &ask, Outcome::Failed) {
        retries += 1;
        assert_eq!(next.not_before(), after(now, 2 * SECOND));
        (ask, now) = (next, next.not_before());
    }
    assert_eq!(retries, 2); // at 62 and 64 s, and 64 s is just in time
    assert_eq!(gate.stats().retries, 2);
}

#[test]
fn no_gate_keeps_a_retry_beyond_the_time_for_retries() {
    let policy = Policy::named("none").unwrap().elapsed(Some(Span::from_secs(5)));
    let mut gate: Controller = Controller::new(policy, 1, at(0));
    let Decision::Go(permit) = gate.poll(at(0), &Ask::new()) else { panic!() };
    let asked = Hint::retry_after(Span::from_secs(60));
    gate.settle(at(0), permit, Outcome::Throttled.with(asked));
    // It would be late, so the caller keeps its response.
    let retry = gate.retry(at(0), &Ask::new(), Outcome::Throttled);
    assert!(matches!(retry, Err(Reason::Late(_))), "{retry:?}");
    assert_eq!(gate.stats().retries, 0);
    let hasty = Ask::new().deadline(at(5 * SECOND));
    let Decision::Refuse(Reason::Late(until)) = gate.poll(at(0), &hasty) else { panic!() };
    assert!(until >= at(60 * SECOND));
    assert_eq!(gate.why(at(0), &hasty), Some(Gate::Hold));
    // A call's own deadline still counts where it is the earlier one.
    let mut gate: Controller = Controller::new(policy, 1, at(0));
    let soon = Ask::new().deadline(at(SECOND));
    let next = gate.retry(at(0), &soon, Outcome::Failed).unwrap();
    assert_eq!(gate.check(at(SECOND), &next), Verdict::Go);
    assert!(matches!(gate.check(at(2 * SECOND), &next), Verdict::Refuse(Reason::Late(_))));
}

#[test]
fn a_policy_can_live_in_flash() {
    static POLICY: Policy<Aimd> = Policy::new(Aimd::DEFAULT);
    let one: Controller<Aimd> = Controller::new(POLICY, 1, at(0));
    let two: Controller<Aimd> = Controller::new(POLICY, 2, at(0));
    assert!(one.states().eq(two.states()));
    assert_eq!(Aimd::DEFAULT.start(at(0)), *one.states().next().unwrap());
}

#[test]
fn a_law_that_refuses_does_not_hide_when_the_next_call_may_leave() {
    let one = TchannelConfig { most: core::num::NonZeroU32::MIN, ..TchannelConfig::DEFAULT };
    let law = Tchannel::new(TchannelConfig { over: Over::Refuse, ..one }).unwrap();
    let mut gate: Controller<Tchannel> = Controller::new(Policy::new(law), 1, at(0));
    let Decision::Go(permit) = gate.poll(at(0), &Ask::new()) else { panic!() };
    // It has had its call of this second. The server's wish lasts for longer.
    gate.settle(at(0), permit, Outcome::Throttled.with(Hint::retry_after(Span::from_secs(5))));
    let Verdict::Wait(until) = gate.check(at(2 * SECOND), &Ask::new()) else { panic!() };
    assert_eq!(gate.next_at(at(2 * SECOND)), Some(until));
}

#[test]
fn a_call_from_before_a_cut_does_not_cut_again_under_another_law() {
    let [aimd, concurrency] = ["aimd", "aimd-concurrency"].map(|name| Policy::named(name).unwrap());
    let mut gate: Controller = Controller::new(concurrency, 1, at(0));
    let [one, two] = [(); 2].map(|()| match gate.poll(at(0), &Ask::new()) {
        Decision::Go(permit) => permit,
        other => panic!("{other:?}"),
    });
    gate.settle(at(SECOND), one, Outcome::Throttled);
    assert_eq!(gate.stats().slower, 1);
    gate.set_policy(aimd, at(SECOND));
    gate.settle(at(SECOND), two, Outcome::Throttled);
    assert_eq!(gate.stats().slower, 1);
}
