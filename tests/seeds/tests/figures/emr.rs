//! The EMR article: a scan of a thousand calls against a limit of four a second.

use std::num::NonZeroU16;

use tidegate::backoff::{Backoff, Growth, Jitter};
use tidegate::law::{Aimd, Fixed, Law};
use tidegate::{Call, Controller, Decision, Instant, Outcome, Policy, Span};
use tidegate_seeds::EMR;
use tidegate_sim::{Scenario, World};

use crate::{ratio, seconds};

/// "1000 clusters", "response times around 100ms", and the limit as a bucket or as windows. Not
/// exactly 100 ms: each call would then arrive exactly with its token.
const SCAN: &str = "
title = 'scan'
end = '2h'
stop_when_work_is_done = true
[laws.four]
fixed = { rate = '4/s' }
[laws.restart]
backoff = { base = '10ms', most = '10240ms', factor = 2, jitter = 'none' }
[laws.longest]
backoff = { base = '10240ms', most = '10240ms', factor = 1, jitter = 'none' }
[laws.once]
backoff = { attempts = 1 }
";
const BUCKET: &str = "[server.bucket]\nburst = 4\nrate = '4/s'\n";
const WINDOWS: &str = "[server.window]\nlimit = 4\nwidth = '1s'\n";
const FAST: &str = "[server.bucket]\nburst = 1000\nrate = '1000/s'\n";
const WORK: &str = "[[clients]]\ndemand = { work = 1000 }\n";
/// "A secondary orchestrator": two calls a second, which are not retried.
const OTHER: &str = "[[clients]]\nthreads = 20\ndemand = { poisson = '0.1/s' }\n";

fn claim(key: &str) -> Vec<f64> {
    EMR.numbers("claims", key)
}

/// The means of five runs: the time in seconds, and the share of throttled calls in per cent.
fn run(server: &str, clients: &str, law: &str) -> (f64, f64) {
    let text = [SCAN, server, clients].concat();
    let scenario = Scenario::parse(&text, "scan", "scan").unwrap();
    let mean = |name: &str| {
        let of = |seed| World::new(&scenario, law, seed).unwrap().run().unwrap().metrics.get(name);
        (1..=5).map(|seed| of(seed).unwrap()).sum::<f64>() / 5.0
    };
    (mean("time_s"), 100.0 * mean("throttled"))
}

fn scan(server: &str, law: &str) -> (f64, f64) {
    run(server, WORK, law)
}

/// The share of another client's calls that are throttled beside a scan, in per cent.
fn others(server: &str, law: &str) -> f64 {
    // The metrics exclude a group that has its own law, which is the scan here.
    run(server, &format!("{OTHER}{WORK}law = '{law}'\n"), "once").1
}

#[test]
fn the_scan_takes_as_long_as_its_own_speed_or_the_limit_requires() {
    let (alone, _) = scan(FAST, "none");
    assert!((alone - claim("own speed")[0]).abs() < 1.0, "{alone}");
    let (limited, throttled) = scan(BUCKET, "four");
    assert!((limited - claim("the limit")[0]).abs() < 1.0, "{limited}");
    assert_eq!(throttled, claim("fixed, throttled")[0]);
}

#[test]
fn the_adaptive_rate_halves_as_in_the_article() {
    let law = Aimd::DEFAULT;
    let mut gate: Controller<Aimd> =
        Controller::new(Policy::new(law).backoff(None), 1, Instant::ZERO);
    let mut now = Instant::ZERO;
    for expected in claim("halving") {
        let quota = law.pace(gate.states().next().unwrap(), Instant::ZERO, 0, false).quota.unwrap();
        let rate = 1.0 / seconds(quota.interval());
        assert!((rate - expected).abs() < 1e-6, "{rate}, not {expected}");
        let permit = loop {
            match gate.poll(now, &Call::new()) {
                Decision::Admit(permit) => break permit,
                Decision::Wait(until) => now = until,
                other => panic!("an open window answered {other:?}"),
            }
        };
        gate.settle(now, permit, Outcome::Throttled);
    }
}

/// "Max retries of 10 and base wait of 10 ms 2^10 * 10 = 1024*10 = 10 seconds".
#[test]
fn the_backoff_reaches_ten_seconds_and_the_scan_takes_less_than_the_article_expects() {
    let (base, most) = (Span::from_millis(10), Span::from_millis(10_240));
    let twice = Growth::Exponential(ratio(2, 1));
    let schedule = Backoff::new(twice, Jitter::None, base, most).unwrap();
    let policy =
        Policy::new(Fixed::UNLIMITED).backoff(Some(schedule)).attempts(NonZeroU16::new(12));
    let mut gate: Controller<Fixed> = Controller::new(policy, 1, Instant::ZERO);
    let mut call = Call::new();
    // The first wait is 2^0 units long.
    for _ in 0..=10 {
        call = gate.retry(Instant::ZERO, &call, Outcome::Throttled).unwrap();
    }
    let longest = seconds(call.not_before() - Instant::ZERO);
    assert_eq!(longest, 10.24);
    assert_eq!(longest.floor(), claim("longest wait")[0]);
    for server in [BUCKET, WINDOWS] {
        // 1000 calls at 4 in each 10 s would be 2500 s. The bucket refills while the client calls,
        // so five or six are served.
        let ((time, _), claimed) = (scan(server, "longest"), claim("backoff")[0]);
        assert!((0.6 * claimed..claimed).contains(&time), "{time}");
    }
}

/// "This will place us into heavy contention with other clients and will basically make life
/// miserable for all the clients." "We can get to a more predictable API rate by using rate
/// limiting", "and will also end up being a good API citizen".
#[test]
fn calls_without_a_limit_starve_other_clients_and_an_adaptive_rate_does_not() {
    // A window resets at once, so the rate finds less of it.
    for (server, longer) in [(BUCKET, 1.1), (WINDOWS, 1.4)] {
        let (time, throttled) = scan(server, "none");
        assert!(time < 300.0 && throttled > 50.0, "{time} s, {throttled} %");
        let (_, throttled) = scan(server, "restart");
        assert!(throttled > 45.0, "{throttled} %");
        let (time, throttled) = scan(server, "aimd");
        assert!(
            time < longer * claim("the limit")[0] && throttled < 10.0,
            "{time} s, {throttled} %"
        );
        let [naive, restart, aimd] = ["none", "restart", "aimd"].map(|law| others(server, law));
        assert!(naive > 65.0 && restart > 3.0 * aimd && aimd < 20.0, "{naive} {restart} {aimd} %");
    }
}
