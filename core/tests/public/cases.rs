//! Cases of a controller that the oracle's vectors do not cover.

use core::num::NonZeroU16;

use tidegate::backoff::{Backoff, Growth, Jitter};
use tidegate::gate::Gate;
use tidegate::law::{
    Aimd, AimdConfig, Fixed, Law,
    published::{Heroku, HerokuConfig, Over, Tchannel, TchannelConfig},
};
use tidegate::{
    Call, Controller, Decision, Hint, Instant, Outcome, Policy, Quota, Reason, Span, Verdict,
};

use crate::{SECOND, at};

fn after(now: Instant, nanos: u64) -> Instant {
    now + Span::from_nanos(nanos)
}

#[test]
fn a_full_concurrency_limit_does_not_hide_that_the_wait_after_it_is_too_long() {
    let law = Fixed::new(Quota::per_minute(1).unwrap());
    let mut gate: Controller<Fixed> =
        Controller::new(Policy::new(law).concurrency(NonZeroU16::MIN), 1, at(0));
    assert!(matches!(gate.poll(at(0), &Call::new()), Decision::Admit(_)));
    let (soon, later) = (at(59 * SECOND), at(60 * SECOND));
    let late = Verdict::Reject(Reason::Late(later));
    assert_eq!(gate.check(at(0), &Call::new().deadline(soon)), late);
    assert_eq!(gate.why(at(0), &Call::new().deadline(soon)), Some(Gate::Pacing));
    assert_eq!(gate.check(at(0), &Call::new().deadline(later)), Verdict::Full);
}

#[test]
fn a_started_interval_grows_by_as_much_as_a_whole_one() {
    let law = Aimd::new(AimdConfig { cooldown: None, ..AimdConfig::DEFAULT }).unwrap();
    let mut gate: Controller<Aimd> = Controller::new(Policy::new(law), 1, at(0));
    let Decision::Admit(permit) = gate.poll(at(0), &Call::new()) else { panic!() };
    // Of the 100 ms between calls 60 have elapsed. At half the rate, the interval is 100 ms longer.
    let millis = |millis: u64| at(millis * SECOND / 1_000);
    gate.settle(millis(60), permit, Outcome::Throttled);
    assert_eq!(gate.check(millis(60), &Call::new()), Verdict::Wait(millis(200)));
}

#[test]
fn the_lower_of_the_concurrency_limits_of_law_and_policy_applies() {
    for (limit, expected) in [(2, 2), (4, 4), (100, 4)] {
        let policy =
            Policy::named("aimd-concurrency").unwrap().concurrency(NonZeroU16::new(limit).unwrap());
        let mut gate: Controller = Controller::new(policy, 1, at(0));
        while let Decision::Admit(_) = gate.poll(at(0), &Call::new()) {}
        assert_eq!(gate.in_flight(), expected);
        assert_eq!(gate.poll(at(0), &Call::new()), Decision::Full);
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
    // The first attempt takes a minute to fail. The time limit starts then.
    let mut now = at(60 * SECOND);
    let mut call = Call::new();
    let mut retries = 0;
    while let Ok(next) = gate.retry(now, &call, Outcome::Failed) {
        retries += 1;
        assert_eq!(next.not_before(), after(now, 2 * SECOND));
        (call, now) = (next, next.not_before());
    }
    assert_eq!(retries, 2); // at 62 and 64 s; 64 s is the limit
    assert_eq!(gate.stats().retries, 2);
}

#[test]
fn no_gate_delays_a_retry_beyond_the_time_for_retries() {
    let policy = Policy::named("none").unwrap().elapsed(Some(Span::from_secs(5)));
    let mut gate: Controller = Controller::new(policy, 1, at(0));
    let Decision::Admit(permit) = gate.poll(at(0), &Call::new()) else { panic!() };
    let asked = Hint::retry_after(Span::from_secs(60));
    gate.settle(at(0), permit, Outcome::Throttled.with(asked));
    // A retry would be late, so the caller keeps its response.
    let retry = gate.retry(at(0), &Call::new(), Outcome::Throttled);
    assert!(matches!(retry, Err(Reason::Late(_))), "{retry:?}");
    assert_eq!(gate.stats().retries, 0);
    let hasty = Call::new().deadline(at(5 * SECOND));
    let Decision::Reject(Reason::Late(until)) = gate.poll(at(0), &hasty) else { panic!() };
    assert!(until >= at(60 * SECOND));
    assert_eq!(gate.why(at(0), &hasty), Some(Gate::Cooldown));
    // A call's own deadline applies if it is earlier.
    let mut gate: Controller = Controller::new(policy, 1, at(0));
    let soon = Call::new().deadline(at(SECOND));
    let next = gate.retry(at(0), &soon, Outcome::Failed).unwrap();
    assert_eq!(gate.check(at(SECOND), &next), Verdict::Admit);
    assert!(matches!(gate.check(at(2 * SECOND), &next), Verdict::Reject(Reason::Late(_))));
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
fn a_law_that_rejects_does_not_hide_when_the_next_call_may_be_sent() {
    let one = TchannelConfig { most: core::num::NonZeroU32::MIN, ..TchannelConfig::DEFAULT };
    let law = Tchannel::new(TchannelConfig { over: Over::Reject, ..one }).unwrap();
    let mut gate: Controller<Tchannel> = Controller::new(Policy::new(law), 1, at(0));
    let Decision::Admit(permit) = gate.poll(at(0), &Call::new()) else { panic!() };
    // The call of this second has been used. The server's cooldown lasts longer.
    gate.settle(at(0), permit, Outcome::Throttled.with(Hint::retry_after(Span::from_secs(5))));
    let Verdict::Wait(until) = gate.check(at(2 * SECOND), &Call::new()) else { panic!() };
    assert_eq!(gate.next_at(at(2 * SECOND)), Some(until));
}

#[test]
fn a_call_from_before_a_cut_does_not_cut_again_under_another_law() {
    let [aimd, concurrency] = ["aimd", "aimd-concurrency"].map(|name| Policy::named(name).unwrap());
    let mut gate: Controller = Controller::new(concurrency, 1, at(0));
    let [one, two] = [(); 2].map(|()| match gate.poll(at(0), &Call::new()) {
        Decision::Admit(permit) => permit,
        other => panic!("{other:?}"),
    });
    gate.settle(at(SECOND), one, Outcome::Throttled);
    assert_eq!(gate.stats().slower, 1);
    gate.set_policy(aimd, at(SECOND));
    gate.settle(at(SECOND), two, Outcome::Throttled);
    assert_eq!(gate.stats().slower, 1);
}

#[test]
fn calls_in_flight_together_raise_the_sleep_of_the_demonstration_once() {
    let law = Heroku::new(HerokuConfig { spare_first: false, ..HerokuConfig::DEMO }).unwrap();
    let mut gate: Controller<Heroku> = Controller::new(Policy::new(law), 1, at(0));
    let permits = [(); 2].map(|()| match gate.poll(at(0), &Call::new()) {
        Decision::Admit(permit) => permit,
        other => panic!("{other:?}"),
    });
    let [one, two] = permits.map(|permit| {
        gate.settle(at(SECOND), permit, Outcome::Throttled);
        gate.states().next().unwrap().sleep()
    });
    assert_eq!(one, two);
}

#[test]
fn a_call_ends_at_once_if_the_server_requests_a_wait_beyond_its_deadline() {
    // GitHub: "API rate limit exceeded", and the window ends in 40 minutes.
    let reset = Span::from_secs(2_400);
    let reply = Outcome::Throttled.with(Hint::remaining(0).and_reset(reset));
    for ceiling in [Span::from_secs(1), Span::from_secs(3_600)] {
        let policy = Policy::named("adaptive").unwrap().ceiling(ceiling).unwrap();
        for (deadline, in_time) in [(10, false), (2_399, false), (4_000, true)] {
            let mut gate: Controller = Controller::new(policy, 1, at(0));
            let call = Call::new().deadline(at(deadline * SECOND));
            let Decision::Admit(permit) = gate.poll(at(0), &call) else { panic!() };
            gate.settle(at(0), permit, reply);
            match gate.retry(at(0), &call, reply) {
                Ok(_) => assert!(in_time),
                Err(Reason::Late(until)) => {
                    assert!(!in_time && until >= after(at(0), reset.as_nanos()))
                }
                Err(other) => panic!("{other}"),
            }
        }
    }
}

#[test]
fn an_exhausted_quota_ends_the_call_and_teaches_no_rate() {
    for name in ["adaptive", "aimd", "aimd-concurrency", "vegas", "tchannel", "heroku-gradual"] {
        let mut gate: Controller = Controller::new(Policy::named(name).unwrap(), 1, at(0));
        let Decision::Admit(permit) = gate.poll(at(0), &Call::new()) else { panic!() };
        let before = gate.clone();
        let reply = Outcome::Exhausted.with(Hint::retry_after(Span::from_secs(600)));
        gate.settle(at(0), permit, reply);
        assert!(gate.states().eq(before.states()), "{name}");
        assert_eq!(gate.retry(at(0), &Call::new(), reply), Err(Reason::Exhausted));
        // Other calls wait until the quota is renewed.
        assert!(gate.next_at(at(0)) >= Some(at(600 * SECOND)), "{name}");
        assert_eq!((gate.stats().exhausted, gate.stats().settled()), (1, 1));
    }
}
