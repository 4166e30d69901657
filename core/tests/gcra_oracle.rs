//! The pace against an exact oracle: virtual scheduling (ITU-T I.371) in exact rationals.
//!
//! The oracle keeps a theoretical arrival time and the pace keeps a leaky bucket; I.371 states
//! that the two decide alike. The oracle's times are fractions with the quota's count as their
//! common denominator, so they are integers of 128 bits, and nothing rounds.
#![allow(
    missing_docs,
    clippy::arithmetic_side_effects,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that overflows or panics fails, which is right"
)]

use proptest::prelude::*;
use tidegate::gate::Pace;
use tidegate::{Instant, Quota, Reason, Rng, Span, Verdict};

struct Oracle {
    count: u128,
    period: u128,
    burst: u128,
    /// The theoretical arrival time of the next call, in 1/count ns.
    arrival: u128,
    latest: u128,
}

impl Oracle {
    fn new(quota: Quota, now: u64) -> Self {
        let count = u128::from(quota.count());
        Self {
            count,
            period: u128::from(quota.period().as_nanos()),
            burst: u128::from(quota.burst()),
            arrival: u128::from(now) * count,
            latest: u128::from(now),
        }
    }

    /// `Ok(charged)`, or the first nanosecond at which the call conforms, or never.
    fn ask(&mut self, now: u64, cost: u32) -> Verdict {
        self.latest = self.latest.max(u128::from(now));
        let cost = u128::from(cost);
        if cost == 0 {
            return Verdict::Go;
        }
        if cost > self.burst {
            return Verdict::Refuse(Reason::TooBig);
        }
        // It conforms from `arrival - (burst - cost) * period / count` on.
        let tolerance = (self.burst - cost) * self.period;
        let conforms = self.arrival.saturating_sub(tolerance).div_ceil(self.count);
        if conforms > self.latest {
            return match u64::try_from(conforms) {
                Ok(at) => Verdict::Wait(Instant::from_nanos(at)),
                Err(_) => Verdict::Refuse(Reason::Never),
            };
        }
        self.arrival = self.arrival.max(self.latest * self.count) + cost * self.period;
        Verdict::Go
    }
}

struct Pair {
    quota: Quota,
    pace: Pace,
    oracle: Oracle,
    asked: u64,
}

impl Pair {
    fn new(quota: Quota, start: u64) -> Self {
        let pace = Pace::new(Instant::from_nanos(start));
        Self { quota, pace, oracle: Oracle::new(quota, start), asked: 0 }
    }

    /// Asks both, and charges both where they let the call go.
    fn ask(&mut self, now: u64, cost: u32) -> Verdict {
        let at = Instant::from_nanos(now);
        let verdict = self.pace.check(at, cost, Some(self.quota));
        let expected = self.oracle.ask(now, cost);
        assert_eq!(verdict, expected, "{:?} at {now} for {cost}, ask {}", self.quota, self.asked);
        match verdict {
            Verdict::Go => self.pace.charge(at, cost, Some(self.quota)),
            // The clock is seen whatever the answer is; polling must cost nothing.
            Verdict::Wait(_) | Verdict::Refuse(_) => self.pace.drain(at, Some(self.quota)),
            Verdict::Full => panic!("a pace is never full"),
        }
        self.asked += 1;
        verdict
    }
}

fn quotas() -> Vec<Quota> {
    let per = |count, nanos, burst| {
        Quota::per(count, Span::from_nanos(nanos)).unwrap().with_burst(burst).unwrap()
    };
    let hour = 3_600_000_000_000;
    vec![
        per(1, hour, 1),
        per(1, hour, 10),
        per(1, hour, 5_124_095), // the largest burst of this period
        per(4_500, hour, 4_500),
        per(10, 24 * hour, 3),
        per(7, 60_000_000_000, 2),
        per(3, 1_000_000_000, 1),
        per(100_000, 1_000_000_000, 20_000),
        per(700_000_000, 1_000_000_000, 5),
        per(u64::MAX, 1, 1),
        per(1, u64::MAX, 1),
        per(u64::MAX, u64::MAX, 1),
        per(3, 7, u32::MAX),
        per(999_999_937, 1_000_000_007, 3),
    ]
}

/// One million and more random asks: every quota, costs from nothing to beyond any burst, steps
/// that are tiny, about one interval, huge, or backwards, and polls at the announced instants.
#[test]
fn a_million_random_asks_fall_as_in_exact_rationals() {
    let mut asked = 0;
    for (index, quota) in quotas().into_iter().enumerate() {
        let mut rng = Rng::new(index as u64);
        for start in [0, 1 << 40, u64::MAX - (1 << 50)] {
            let mut pair = Pair::new(quota, start);
            let mut now = start;
            for _ in 0..26_000 {
                let cost = cost(&mut rng, quota);
                let verdict = pair.ask(now, cost);
                now = match (verdict, rng.next_u32() % 4) {
                    (Verdict::Wait(at), 0) => at.as_nanos(),
                    (Verdict::Wait(at), 1) => at.as_nanos() - 1,
                    _ => step(&mut rng, quota, now),
                };
            }
            asked += pair.asked;
        }
    }
    assert!(asked >= 1_000_000, "{asked}");
}

fn cost(rng: &mut Rng, quota: Quota) -> u32 {
    match rng.next_u32() % 16 {
        0 => 0,
        1 => quota.burst(),
        2 => quota.burst().saturating_add(1),
        3 => u32::MAX,
        4 => 5_124_097, // governor 0.10.4 lets this through at one an hour with a burst of ten
        5 => rng.next_u32(),
        6..=9 => 1 + rng.next_u32() % quota.burst(),
        _ => 1,
    }
}

fn step(rng: &mut Rng, quota: Quota, now: u64) -> u64 {
    let interval = (quota.period().as_nanos() / quota.count()).max(1);
    let wide = u64::from(rng.next_u32());
    match rng.next_u32() % 16 {
        0 => now.saturating_sub(wide % interval.saturating_mul(3).max(1)), // the clock steps back
        1 => now.saturating_add(wide),
        2 => now.saturating_add(interval.saturating_mul(wide % 20)),
        3..=5 => now.saturating_add(wide % 3),
        6 => now,
        _ => now.saturating_add(wide % interval.saturating_mul(2).max(1)),
    }
}

/// Governor lets a huge cost through at one call an hour because it multiplies before it checks.
#[test]
fn a_huge_cost_never_slips_through_an_overflow() {
    let quota = Quota::per_hour(1).unwrap().with_burst(10).unwrap();
    let pace = Pace::new(Instant::ZERO);
    for cost in [11, 12, 5_124_096, 5_124_097, 1 << 31, u32::MAX] {
        for now in [0, 1, 1 << 40, u64::MAX] {
            let verdict = pace.check(Instant::from_nanos(now), cost, Some(quota));
            assert_eq!(verdict, Verdict::Refuse(Reason::TooBig), "{cost} at {now}");
        }
    }
}

#[test]
fn polling_at_every_nanosecond_neither_earns_nor_loses() {
    // 3 per 7 ns: intervals of 2 1/3 ns, the worst case for whole nanoseconds. A burst of one has
    // no room for the third of a nanosecond that passes before the next call can come, in the
    // oracle as here; with a burst of two nothing is lost.
    for (burst, expected) in [(1, 70_000u64.div_ceil(3)), (2, 30_001), (5, 30_004)] {
        let quota = Quota::per(3, Span::from_nanos(7)).unwrap().with_burst(burst).unwrap();
        let mut pair = Pair::new(quota, 0);
        let gone = (0..70_000).filter(|&now| pair.ask(now, 1) == Verdict::Go).count();
        assert_eq!(gone as u64, expected);
    }
}

#[test]
fn at_the_end_of_time_a_wait_that_cannot_end_is_refused() {
    let quota = Quota::per_hour(1).unwrap();
    let end = u64::MAX;
    let mut pair = Pair::new(quota, end - 10);
    assert_eq!(pair.ask(end - 10, 1), Verdict::Go);
    assert_eq!(pair.ask(end - 10, 1), Verdict::Refuse(Reason::Never));
    assert_eq!(pair.ask(end, 1), Verdict::Refuse(Reason::Never));
    // A jump to the end of time earns one burst and no more.
    let mut pair = Pair::new(quota.with_burst(3).unwrap(), 0);
    assert_eq!(pair.ask(end, 3), Verdict::Go);
    assert_eq!(pair.ask(end, 1), Verdict::Refuse(Reason::Never));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_quota_and_any_clock_fall_as_in_exact_rationals(
        count in prop_oneof![1..20u64, 1..=u64::MAX],
        period in prop_oneof![1..20u64, Just(3_600_000_000_000), 1..=u64::MAX],
        burst in prop_oneof![1..4u32, 1..=u32::MAX],
        start: u64,
        asks in prop::collection::vec((prop_oneof![0..5u64, any::<u64>()], prop_oneof![0..4u32, any::<u32>()]), 1..60),
    ) {
        let burst = u32::try_from((u64::MAX / period).min(u64::from(burst))).unwrap();
        let quota = Quota::per(count, Span::from_nanos(period)).unwrap().with_burst(burst).unwrap();
        let mut pair = Pair::new(quota, start);
        let mut now = start;
        for (step, cost) in asks {
            // Half of the steps are small, half are anywhere on the clock, hence often backwards.
            now = if step < 5 { now.saturating_add(step) } else { step };
            pair.ask(now, cost);
        }
    }

    #[test]
    fn what_correct_gives_back_or_takes_is_what_the_call_would_have_cost(
        count in 1..1_000u64, period in 1..1_000_000u64, burst in 1..1_000u32,
        costs in prop::collection::vec((0..1_000u32, 0..1_000u32, 0..10_000u64), 1..60),
    ) {
        // Charged `asked` then corrected to `used` at once, or charged `used` from the start: the
        // same level, as long as the refund is not cut off at an empty bucket.
        let quota = Quota::per(count, Span::from_nanos(period)).unwrap().with_burst(burst).unwrap();
        let mut corrected = Pace::new(Instant::ZERO);
        let mut plain = Pace::new(Instant::ZERO);
        let mut now = 0;
        for (asked, used, step) in costs {
            now += step;
            let at = Instant::from_nanos(now);
            corrected.charge(at, asked, Some(quota));
            corrected.correct(at, asked, used, Some(quota));
            plain.charge(at, used, Some(quota));
            prop_assert_eq!(&corrected, &plain);
        }
    }
}
