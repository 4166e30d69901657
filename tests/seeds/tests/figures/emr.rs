use tidegate::Outcome;
use tidegate_seeds::emr::{ENVIRONMENTS, Scan, clients, longest_wait, rates, scans};
use tidegate_seeds::published::EMR;

fn scan(client: &str, environment: &str) -> Scan {
    let policy = clients().into_iter().find(|(name, _)| *name == client).unwrap().1;
    let environment = ENVIRONMENTS.into_iter().find(|place| place.name == environment).unwrap();
    scans(policy, environment)
}

fn claim(key: &str) -> Vec<f64> {
    EMR.numbers("claims", key)
}

#[test]
fn the_scan_takes_as_long_as_the_limit_requires_and_a_single_fixed_rate_is_never_throttled() {
    let fixed = scan("fixed 4/s", "alone, bucket");
    assert!((fixed.seconds - claim("the limit")[0]).abs() < 1.0, "{fixed:?}");
    assert_eq!(fixed.own, claim("fixed, throttled")[0]);
}

#[test]
fn the_adaptive_rate_halves_as_in_the_article() {
    let halved: Vec<f64> =
        rates(Outcome::Throttled).take(3).map(|rate| rate as f64 / 1e3).collect();
    assert_eq!(halved, claim("halving"));
}

#[test]
fn the_backoff_reaches_ten_seconds_and_the_scan_takes_less_than_the_article_expects() {
    assert!((longest_wait() - claim("longest wait")[0]).abs() < 0.25);
    for environment in ["alone, bucket", "alone, 1 s windows"] {
        // 1000 calls at 4 in each 10 s would be 2500 s. Five or six are served.
        let backoff = scan("backoff, always 10.24 s", environment);
        let claimed = claim("backoff")[0];
        assert!(backoff.seconds > 0.6 * claimed && backoff.seconds < claimed, "{backoff:?}");
    }
}

#[test]
fn calling_without_a_limit_is_fast_and_starves_other_clients() {
    // "This will place us into heavy contention with other clients and will basically make life
    // miserable for all the clients."
    for environment in ["other 2/s", "other 3/s"] {
        let naive = scan("naive", environment);
        assert!(naive.seconds < 300.0 && naive.own > 60.0, "{naive:?}");
        assert!(naive.others.unwrap() > 75.0, "{naive:?}");
    }
}

#[test]
fn rate_and_backoff_together_are_fair_everywhere_and_fast_below_the_limit() {
    for place in ENVIRONMENTS {
        let (both, backoff) =
            (scan("aimd with pause", place.name), scan("backoff, each call anew", place.name));
        assert!(both.own < 10.0 && backoff.own > 50.0, "{}: {both:?} {backoff:?}", place.name);
        if let (Some(both), Some(backoff)) = (both.others, backoff.others) {
            assert!(3.0 * both < backoff, "{}: {both} {backoff}", place.name);
        }
    }
    let alone = scan("aimd with pause", "alone, bucket");
    assert!(alone.seconds < 1.1 * claim("the limit")[0], "{alone:?}");
}
