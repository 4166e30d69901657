//! After any hints, a client recovers once the server serves again.

use tidegate::{Call, Controller, Decision, Hint, Outcome, Policy, Reply, Rng, Span};

use crate::client::Client;
use crate::server::{Says, Server};
use crate::{HOUR, SECOND, at};

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
fn a_server_that_reports_remaining_calls_only_when_throttling_is_still_probed() {
    let mut client = Client::new(7);
    for _ in 0..8 {
        client.call(Outcome::Ok);
    }
    for _ in 0..6 {
        client.call(Outcome::Throttled.with::<1>(Hint::remaining(0)));
    }
    client.call(Outcome::Ok);
    let before = client.interval();
    for _ in 0..300 {
        client.call(Outcome::Ok);
    }
    assert!(client.interval() < before / 4, "{before} ns, then {} ns", client.interval());
}

#[test]
fn a_period_that_is_reported_once_does_not_apply_forever() {
    let mut client = Client::new(7);
    client.call(Outcome::Ok);
    let minute = Span::from_secs(60);
    client.call(
        Outcome::Throttled
            .with::<1>(Hint::quota(1, minute).and_remaining(71).and_reset(Span::from_secs(110))),
    );
    let told = client.interval();
    client.call(Outcome::Ok);
    assert!(client.interval() < told / 100, "{told} ns, then {} ns", client.interval());
    assert!(client.interval() <= minute.as_nanos());
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
fn a_throttled_call_with_a_period_does_not_slow_clients_after_it() {
    let mut client = Client::new(7);
    client.call(Outcome::Ok);
    let mut used_up = Hint::remaining(0).and_reset(Span::from_secs(3_599));
    used_up.limit = Some(5_000);
    client.call(Outcome::Throttled.with::<1>(used_up));
    client.call(Outcome::Ok);
    assert!(client.interval() <= SECOND, "{} ms", client.interval() / 1_000_000);
}

#[test]
fn a_bucket_that_is_always_reported_empty_slows_a_client_only_to_a_bound() {
    for (limit, period) in [(1_000, 60), (100_000, 86_400)] {
        let mut client = Client::new(7);
        for _ in 0..20 {
            client.call(Outcome::Ok);
        }
        let period = Span::from_secs(period);
        for _ in 0..100 {
            client.call(Outcome::Ok.with::<1>(Hint::quota(limit, period).and_remaining(0)));
        }
        let everybodys = period.as_nanos() / limit;
        let slowest = client.interval();
        assert!(slowest < 80 * everybodys, "{} times everybody's", slowest / everybodys);
    }
}

#[test]
fn an_hour_of_light_use_does_not_slow_the_job_after_it() {
    let mut server = Server::new(10, SECOND, Some(100), Says::Nothing);
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
    assert!(took < 200 * SECOND, "{} s instead of 100", took / SECOND);
}

/// A broker that takes 30 messages a minute, drops others, and says so on a topic, since nothing answers a message.
#[test]
fn a_client_that_is_told_beside_its_calls_keeps_to_the_limit() {
    for (law, hint) in [
        ("adaptive", Hint::NONE),
        ("adaptive", Hint::retry_after(Span::from_secs(4))),
        ("aimd", Hint::NONE),
    ] {
        let mut broker = Server::new(30, 60 * SECOND, Some(5), Says::Nothing);
        let policy = Policy::named(law).unwrap();
        let mut gate: Controller = Controller::new(policy, 7, at(0));
        let (mut now, mut sent, mut dropped) = (0, 0u64, 0u64);
        while now < 2 * HOUR {
            if now < HOUR {
                (sent, dropped) = (0, 0);
            }
            match gate.poll(at(now), &Call::new()) {
                Decision::Admit(permit) => {
                    gate.settle(at(now), permit, Outcome::Ok);
                    sent += 1;
                    if !broker.limit.take(now, 1) {
                        dropped += 1;
                        gate.report(at(now), Outcome::Throttled.with(hint));
                        // Another message of the topic says nothing new.
                        let interval = gate.intervals(at(now)).next();
                        gate.report(at(now), Outcome::Throttled);
                        assert_eq!(gate.intervals(at(now)).next(), interval, "{law}");
                    }
                }
                Decision::Wait(until) => now = until.as_nanos(),
                Decision::Full => now = gate.next_at(at(now)).unwrap().as_nanos(),
                other @ Decision::Reject(_) => panic!("{other:?}"),
            }
        }
        let served = sent - dropped;
        println!("{law} {served} {dropped}");
        assert!(
            served >= 1_440 && dropped * 10 <= sent,
            "{law}: {served} served, {dropped} dropped"
        );
    }
}
