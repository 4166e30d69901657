//! After any hints, a client recovers once the server serves again.

use std::collections::VecDeque;

use tidegate::law::Fixed;
use tidegate::{
    Call, Controller, Decision, Hint, Outcome, Policy, Quota, Reply, Rng, Span, Verdict,
};

use crate::client::Client;
use crate::server::{Says, Server};
use crate::{HOUR, MILLIS, SECOND, at};

fn below(rng: &mut Rng, most: u64) -> u64 {
    rng.between(Span::ZERO, Span::from_nanos(most)).as_nanos()
}

/// One of five servers with invalid hints, more of them for higher numbers.
fn nonsense(kind: u64, rng: &mut Rng) -> Reply {
    let mut hint = Hint::NONE;
    if kind & 1 != 0 && below(rng, 2) == 0 {
        hint = Hint::retry_after(Span::from_secs(below(rng, 60)));
    }
    if kind >= 2 && below(rng, 2) == 0 {
        hint = hint.and_remaining(below(rng, 100));
        if kind >= 3 {
            hint = hint.and_reset(Span::from_secs(below(rng, 120)));
        }
        if kind == 4 {
            hint.limit = Some(1 + below(rng, 100));
            hint.period = Some(Span::from_secs(1 + below(rng, 100)));
        }
    }
    match below(rng, 5) {
        0 => Outcome::Throttled.with(hint),
        1 => Outcome::Busy.with(hint),
        2 => Outcome::Failed.with(hint),
        _ => Outcome::Ok.with(hint),
    }
}

#[test]
fn after_an_hour_of_invalid_hints_a_client_makes_a_hundred_calls_within_three_days() {
    for seed in 0..5_000 {
        let mut rng = Rng::new(seed);
        let mut client = Client::new(seed);
        let kind = seed % 5;
        for _ in 0..5 + below(&mut rng, 60) {
            if client.now < HOUR {
                let reply = nonsense(kind, &mut rng);
                client.call(reply);
            }
        }
        let since = client.now;
        for _ in 0..100 {
            client.call(Outcome::Ok);
        }
        let took = client.now - since;
        assert!(took < 72 * HOUR, "seed {seed}: {} s", took / SECOND);
    }
}

#[test]
fn a_period_of_years_is_not_believed_for_longer_than_a_day() {
    let year = Span::from_secs(365 * 86_400);
    for told in [
        Hint::quota(1, year).and_remaining(0).and_reset(year),
        Hint::remaining(4_999).and_reset(Span::from_secs(80 * 365 * 86_400)),
    ] {
        let mut client = Client::new(7);
        let mut told = told;
        told.limit = told.limit.or(Some(5_000));
        client.call(Outcome::Ok.with::<1>(told));
        for _ in 0..2_000 {
            client.call(Outcome::Ok);
        }
        assert!(client.now < 3_000 * HOUR, "{} h", client.now / HOUR);
        assert!(client.interval() < HOUR, "{} s", client.interval() / SECOND);
    }
}

#[test]
fn an_hour_of_light_use_does_not_slow_the_job_after_it() {
    for burst in [6, 10, 30, 100] {
        let mut server = Server::new(10, SECOND, Some(burst), Says::Nothing);
        let mut client = Client::new(7);
        let mut call = |client: &mut Client| {
            let permit = client.admitted();
            let reply = match server.call(client.now).outcome {
                Outcome::Ok => Outcome::Ok.into(),
                outcome => outcome.with(Hint::retry_after(Span::from_secs(2))),
            };
            client.now += SECOND / 20;
            client.gate.settle(at(client.now), permit, reply);
        };
        for _ in 0..360 {
            call(&mut client);
            client.now += 10 * SECOND;
        }
        let since = client.now;
        for _ in 0..1_000 {
            call(&mut client);
        }
        let took = client.now - since;
        assert!(took < 200 * SECOND, "{} s instead of 100 with bursts of {burst}", took / SECOND);
    }
}

/// A broker that takes 30 messages a minute, drops others, and says so on a topic, since nothing answers a message.
#[test]
fn a_client_learns_from_messages_that_answer_no_call() {
    for (hint, delay) in [
        (Hint::NONE, 0),
        (Hint::NONE, 5 * SECOND),
        (Hint::retry_after(Span::from_secs(4)), 0),
        (Hint::retry_after(Span::from_secs(4)), 5 * SECOND),
    ] {
        let mut broker = Server::new(30, 60 * SECOND, Some(5), Says::Nothing);
        let mut gate = Controller::new(Policy::adaptive(), 7, at(0));
        let (mut now, mut sent, mut dropped) = (0, 0u64, 0u64);
        let mut topic = VecDeque::new();
        while now < 2 * HOUR {
            if now < HOUR {
                (sent, dropped) = (0, 0); // The second hour counts.
            }
            while let Some(arrives) = topic.pop_front_if(|arrives| *arrives <= now) {
                gate.report(at(arrives), Outcome::Throttled.with(hint));
                // Another message says nothing new.
                let interval = gate.intervals(at(now)).next();
                gate.report(at(arrives), Outcome::Throttled);
                assert_eq!(gate.intervals(at(now)).next(), interval);
            }
            match gate.poll(at(now), &Call::new()) {
                Decision::Admit(permit) => {
                    gate.settle(at(now), permit, Outcome::Ok);
                    sent += 1;
                    if !broker.limit.take(now, 1) {
                        dropped += 1;
                        topic.push_back(now + delay);
                    }
                    now += MILLIS;
                }
                Decision::Wait(until) => {
                    let message = topic.front().copied().unwrap_or(u64::MAX);
                    now = until.as_nanos().min(message.max(now + 1));
                }
                Decision::Full => now += SECOND / 10,
                other @ Decision::Reject(_) => panic!("{other:?}"),
            }
        }
        let served = sent - dropped;
        assert!(
            served >= 1_600 && dropped <= 72,
            "{hint:?} after {delay}: {served} served, {dropped} dropped"
        );
        assert_eq!(gate.stats().throttled, 0, "counters are of responses");
    }
}

#[test]
fn a_message_cuts_no_rate_without_a_call_since_the_latest_cut() {
    let mut gate: Controller = Controller::new(Policy::named("aimd").unwrap(), 7, at(0));
    let mut intervals = Vec::new();
    let mut tell = |gate: &mut Controller, outcome: Outcome| {
        gate.report(at(0), outcome);
        intervals.push(gate.intervals(at(0)).next().unwrap().unwrap().as_millis());
    };
    tell(&mut gate, Outcome::Throttled); // no call was sent
    let Decision::Admit(permit) = gate.poll(at(0), &Call::new()) else { panic!() };
    tell(&mut gate, Outcome::Ok);
    let Decision::Admit(_) = gate.poll(at(SECOND), &Call::new()) else { panic!() };
    gate.settle(at(SECOND), permit, Outcome::Throttled); // cuts
    tell(&mut gate, Outcome::Throttled); // the same event
    let Decision::Admit(_) = gate.poll(at(2 * SECOND), &Call::new()) else { panic!() };
    tell(&mut gate, Outcome::Throttled);
    gate.set_policy(Policy::named("fixed").unwrap(), at(2 * SECOND));
    tell(&mut gate, Outcome::Throttled);
    assert_eq!(intervals, [100, 100, 200, 400, 100]);
    // A cost that a message states was never charged.
    let quota = Policy::new(Fixed::new(Quota::per_second(1).unwrap()));
    let mut gate = Controller::new(quota, 7, at(0));
    let Decision::Admit(_) = gate.poll(at(0), &Call::new()) else { panic!() };
    gate.report(at(0), Outcome::Throttled.using([0]));
    assert_eq!(gate.check(at(0), &Call::new()), Verdict::Wait(at(SECOND)));
}
