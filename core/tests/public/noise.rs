//! Rejections that the rate does not cause.

use tidegate::law::Adaptive;
use tidegate::{AsReply, Hint, Outcome, Policy, Ratio, Rng, Span};

use crate::at;
use crate::client::{Client, Gate, POLICY};

/// No tolerance, the default, and the largest.
const SHARES: [Ratio; 3] = [Ratio::ZERO, Ratio::new(1, 64).unwrap(), Ratio::new(1, 8).unwrap()];

/// The interval of a client of which one call in 100 is rejected at random, in percent of the
/// interval at first.
fn slowdown(tolerance: Ratio, rejected: impl AsReply + Copy, seed: u64) -> u64 {
    let mut client = Client::new(seed);
    let law = Adaptive::DEFAULT.tolerance(tolerance);
    client.gate = Gate::new(Policy::new(law), seed, at(0));
    let mut rng = Rng::new(seed);
    for _ in 0..50 {
        client.call(Outcome::Ok);
    }
    client.call(Outcome::Throttled.with::<1>(Hint::retry_after(Span::ZERO)));
    for _ in 0..8 {
        client.call(Outcome::Ok);
    }
    let first = client.interval();
    for _ in 0..10_000 {
        match rng.next_u32() % 100 {
            0 => client.call(rejected),
            _ => client.call(Outcome::Ok),
        }
    }
    client.interval() * 100 / first
}

#[test]
fn random_rejections_within_the_tolerance_do_not_slow_a_client() {
    for seed in 1..=5 {
        let slower = SHARES.map(|share| slowdown(share, Outcome::Throttled, seed));
        let [without, default, most] = slower;
        assert!(without > 400 && default < 200 && most < 200, "{slower:?} %, seed {seed}");
    }
}

#[test]
fn what_the_server_says_about_its_limit_is_never_noise() {
    let told = Outcome::Throttled.with::<1>(Hint::retry_after(Span::from_millis(1)));
    for seed in 1..=3 {
        let [without, default, most] = SHARES.map(|share| slowdown(share, told, seed));
        assert_eq!([default, most], [without; 2], "seed {seed}");
    }
    assert_eq!(Policy::new(Adaptive::DEFAULT.tolerance(SHARES[1])), POLICY);
}
