//! Plain limiters with a known quota.

use std::hint::black_box;
use std::num::NonZeroU32;
use std::time::Duration;

use governor::RateLimiter;
use governor::clock::FakeRelativeClock;
use tidegate::gate::Pacing;
use tidegate::law::Fixed;
use tidegate::{
    Call, Controller, Costs, Decision, Instant, Outcome, Policy, Quota, Rng, Single, Span, Verdict,
};

use crate::meter::{meter, run};

/// All limiters allow a thousand calls a second with bursts of ten, and are called every other
/// millisecond, so every call may be sent.
const RATE: u32 = 1_000;
const BURST: u32 = 10;
pub const STEP: Span = Span::from_millis(2);

pub fn empty() {
    run(|on| meter(on, || black_box(())));
}

fn quota() -> Quota {
    Quota::per_second(RATE.into()).and_then(|quota| quota.with_burst(BURST)).expect("a quota")
}

pub fn with_costs() -> Controller<Fixed> {
    black_box(Controller::new(Policy::new(Fixed::new(quota())), 7, Instant::ZERO))
}

fn fixed() -> Single<Fixed> {
    black_box(Single::with_rng(Policy::new(Fixed::new(quota())), Rng::new(7), Instant::ZERO))
}

/// A call that is sent. Its completion is not included.
pub fn fixed_poll() {
    let (mut gate, call, mut now) = (fixed(), black_box(Call::new()), Instant::ZERO);
    run(|on| {
        now += STEP;
        let Decision::Admit(permit) = meter(on, || gate.poll(now, &call)) else {
            panic!("kept back")
        };
        gate.settle(now, permit, Outcome::Ok);
    });
}

pub fn fixed_pair() {
    pair(fixed());
}

pub fn fixed_pair_with_costs() {
    pair(with_costs());
}

fn pair<C: Costs<1>>(mut gate: Controller<Fixed, 1, Policy<Fixed>, C>) {
    let (call, mut now) = (black_box(Call::new()), Instant::ZERO);
    run(|on| {
        now += STEP;
        let left = meter(on, || match gate.poll(now, &call) {
            Decision::Admit(permit) => {
                gate.settle(now, permit, Outcome::Ok);
                true
            }
            _ => false,
        });
        assert!(left);
    });
}

/// The controller's bucket alone: checked and charged.
pub fn pacing() {
    let quota = black_box(quota());
    let (mut pacing, mut now) = (black_box(Pacing::new(Instant::ZERO)), Instant::ZERO);
    run(|on| {
        now += STEP;
        assert_eq!(meter(on, || pacing.take(now, 1, &quota)), Verdict::Admit);
    });
}

fn governors_quota(rate: u32, burst: u32) -> governor::Quota {
    let [rate, burst] = [rate, burst].map(|count| NonZeroU32::new(count).expect("a count"));
    governor::Quota::per_second(rate).allow_burst(burst)
}

/// governor with a fake clock that costs almost nothing.
pub fn governor() {
    let clock = FakeRelativeClock::default();
    let limiter = RateLimiter::direct_with_clock(governors_quota(RATE, BURST), clock.clone());
    let limiter = black_box(limiter);
    run(|on| {
        clock.advance(Duration::from_nanos(STEP.as_nanos()));
        assert!(meter(on, || limiter.check()).is_ok());
    });
}

/// governor with its own clock, which cannot be accelerated: the whole run is one burst.
pub fn governor_with_its_clock() {
    let limiter = black_box(RateLimiter::direct(governors_quota(1_000_000, 1_000_000)));
    run(|on| assert!(meter(on, || limiter.check()).is_ok()));
}
