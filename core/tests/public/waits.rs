//! How long one response can delay a client of `adaptive`, and the effect of silence.

use tidegate::{Hint, Outcome, Reply, Span};

use crate::client::{Client, Gate, POLICY};
use crate::server::Server;
use crate::{DAY, HOUR, MILLIS, SECOND, at};

fn secs(count: u64) -> Span {
    Span::from_secs(count)
}

fn later(request: u64) -> Reply {
    Outcome::Throttled.with(Hint::retry_after(secs(request)))
}

/// A single client of a server of ten calls a second without hints, for ten minutes.
fn rate_limited() -> Client {
    let (mut client, mut server) = (Client::new(7), Server::bucket(10, SECOND));
    while client.now < 600 * SECOND {
        client.now += client.wait();
        let reply = server.call(client.now);
        client.call(reply);
    }
    assert!((80 * MILLIS..130 * MILLIS).contains(&client.interval()), "{}", client.interval());
    client
}

#[test]
fn a_night_without_calls_does_not_count_as_a_slow_server() {
    for restart in [false, true] {
        let mut client = rate_limited();
        let mut record = [0; Gate::SNAPSHOT_BYTES];
        client.gate.snapshot(at(client.now), &mut record).unwrap();
        client.now += 8 * HOUR;
        if restart {
            let away = secs(8 * 3_600);
            client.gate = Gate::restore(POLICY, 8, &record, at(client.now), away).unwrap();
        }
        assert_eq!(client.wait(), 0);
        client.call(later(30));
        assert!((30 * SECOND..36 * SECOND).contains(&client.wait()));
        // Until a probe is served, its interval is eight times the learned one.
        assert!(client.interval() < 2 * SECOND, "{}", client.interval());
    }
}

#[test]
fn an_outage_with_a_retry_after_is_not_a_measurement() {
    let mut client = rate_limited();
    let before = client.interval();
    for _ in 0..20 {
        client.call(Outcome::Busy.with::<1>(Hint::retry_after(secs(30))));
    }
    for _ in 0..10 {
        client.call(Outcome::Ok);
    }
    let after = client.interval();
    assert!(after < before * 5 / 4, "{before} ns, and {after} ns after ten minutes");
}

#[test]
fn a_retry_after_takes_precedence_over_the_end_of_the_period() {
    // GitHub's secondary limit: a minute, with most calls of the hour left.
    let told = |left| Hint::remaining(left).and_limit(5_000).and_reset(secs(3_000));
    let mut client = Client::new(7);
    client.call(Outcome::Ok.with(told(4_999)));
    client.call(Outcome::Throttled.with(told(4_998).and_retry_after(secs(60))));
    assert!((60 * SECOND..70 * SECOND).contains(&client.wait()), "{}", client.wait());
}

#[test]
fn any_reported_period_is_followed_by_another_call() {
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
                let mut client = Client::new(seed);
                client.now = DAY;
                client.call(outcome.with(hint));
                let most = if outcome == Outcome::Ok { DAY * 5 / 4 } else { 2 * HOUR };
                assert!(client.wait() <= most, "{outcome:?} {hint:?}: {}", client.wait());
                // A call without a response teaches nothing, and the next wait is the same.
                client.call(Outcome::Abandoned);
                assert!(client.wait() <= DAY * 5 / 4, "{outcome:?} {hint:?}");
                // Repeating the hint changes nothing.
                for _ in 0..40 {
                    client.call(Outcome::Ok.with(hint));
                    assert!(client.wait() <= DAY * 5 / 4, "{hint:?}: {}", client.wait());
                }
            }
        }
    }
}

#[test]
fn a_client_with_alternating_hints_of_two_limits_uses_its_daily_quota() {
    let mut client = Client::new(7);
    let (mut second, mut left, mut day) = (0, 10, 1_000);
    while client.now < DAY {
        if client.now / SECOND != second {
            (second, left) = (client.now / SECOND, 10);
        }
        let served = left > 0 && day > 0;
        (left, day) = if served { (left - 1, day - 1) } else { (left, day) };
        // The one with the smaller share left.
        let hint = if left * 100 < day {
            Hint::quota(10, secs(1)).and_remaining(left).and_reset(secs(1))
        } else {
            Hint::quota(1_000, secs(86_400)).and_remaining(day).and_reset(secs(86_400 - second))
        };
        let outcome = if served { Outcome::Ok } else { Outcome::Throttled };
        client.call(outcome.with(hint));
        client.now += client.wait();
    }
    assert!(day <= 50, "{day} of 1000 left");
}

#[test]
fn a_client_that_returns_within_a_period_has_only_the_remaining_calls() {
    // A single client, restarted after 600 of its 5000 calls were used. It may use most of the
    // rest.
    let mut client = Client::new(7);
    let (end, mut left) = (3_000 * SECOND, 4_400);
    while client.now < end && left > 0 {
        left -= 1;
        let reset = Span::from_nanos(end - client.now);
        let hint = Hint::remaining(left).and_limit(5_000).and_reset(reset);
        client.call(Outcome::Ok.with(hint));
        client.now += client.wait();
    }
    assert!(left <= 600, "{left} of 4400 left");
}
