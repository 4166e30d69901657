//! Rejections that the rate does not cause.

use tidegate::law::Adaptive;
use tidegate::{AsReply, Hint, Outcome, Policy, Ratio, Rng, Span};

use crate::at;
use crate::client::{Client, Gate, POLICY};

/// The interval of a client of which one call in 100 is rejected at random, in percent of the
/// interval at first.
fn slowdown(tolerance: Option<Ratio>, rejected: impl AsReply + Copy, seed: u64) -> u64 {
    let mut client = Client::new(seed);
    if let Some(share) = tolerance {
        let law = Adaptive::DEFAULT.tolerance(share);
        client.gate = Gate::new(Policy::new(law), seed, at(0));
    }
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
    let share = Ratio::new(1, 8);
    for seed in 1..=5 {
        let [without, with] = [None, share].map(|share| slowdown(share, Outcome::Throttled, seed));
        assert!(
            with < 200 && without > 400,
            "{with} % with a tolerance, {without} % without, seed {seed}"
        );
    }
}

#[test]
fn what_the_server_says_about_its_limit_is_never_noise() {
    let told = Outcome::Throttled.with::<1>(Hint::retry_after(Span::from_millis(1)));
    for seed in 1..=3 {
        let [without, with] = [None, Ratio::new(1, 8)].map(|share| slowdown(share, told, seed));
        assert!(with == without, "{with} % with a tolerance, {without} % without, seed {seed}");
    }
    assert_eq!(Policy::new(Adaptive::DEFAULT.tolerance(Ratio::ZERO)), POLICY);
}
