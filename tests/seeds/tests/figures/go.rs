//! "Go: Rate-limiting (done right)": retries until success with cenkalti's backoff, and the "dynamic value" that the
//! post suggests for the number of calls in flight.

use std::collections::VecDeque;

use tidegate::backoff::{Backoff, Growth, Jitter};
use tidegate::law::{AimdConcurrency, Fixed, Law};
use tidegate::{Call, Controller, Decision, Instant, Outcome, Policy, Ratio, Span};
use tidegate_seeds::GO;

use crate::{ratio, seconds};

/// The waits in seconds between the attempts of a failing call that takes no time, with cenkalti's
/// defaults and another initial interval and jitter.
fn waits(initial: Span, spread: Ratio, count: usize, seed: u64) -> Vec<f64> {
    let growth = Growth::Exponential(ratio(3, 2));
    let minute = Span::from_secs(60);
    let schedule = Backoff::new(growth, Jitter::Spread(spread), initial, minute).unwrap();
    let policy = Policy::new(Fixed::UNLIMITED).attempts(None).backoff(Some(schedule));
    let mut gate: Controller<Fixed> = Controller::new(policy, seed, Instant::ZERO);
    let (mut now, mut call, mut waits) = (Instant::ZERO, Call::new(), Vec::new());
    while waits.len() < count {
        match gate.poll(now, &call) {
            Decision::Admit(permit) => {
                gate.settle(now, permit, Outcome::Failed);
                call = gate.retry(now, &call, Outcome::Failed).unwrap();
                waits.push(seconds(call.not_before() - now));
            }
            Decision::Wait(until) => now = until,
            other => panic!("an open window answered {other:?}"),
        }
    }
    waits
}

#[test]
fn every_published_gap_and_their_sum_fit_the_schedule_and_the_time_of_a_write() {
    let elapsed: Vec<f64> = GO
        .section("elapsed")
        .flat_map(str::split_whitespace)
        .map(|millis| millis.parse::<f64>().unwrap() / 1e3)
        .collect();
    let gaps: Vec<f64> = elapsed.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(gaps.len(), 16);
    let millisecond = Span::from_millis(1);
    let nominal = waits(millisecond, Ratio::ZERO, 16, 0);
    let runs: Vec<_> = (0..2_000).map(|seed| waits(millisecond, Ratio::HALF, 16, seed)).collect();
    for (number, gap) in gaps.iter().enumerate() {
        let expected = 1.5f64.powi(number as i32) / 1e3;
        assert!((nominal[number] - expected).abs() < 0.001 * expected, "{number}");
        let (low, high) = (0.5 * expected, 1.5 * expected);
        let waits = runs.iter().map(|run| run[number]);
        let (least, most) = (waits.clone().fold(1.0, f64::min), waits.fold(0.0, f64::max));
        assert!(least >= 0.999 * low && least < 1.01 * low, "{number}: {least}");
        assert!(most <= high && most > 0.99 * high, "{number}: {most}");
        // A write that times out takes up to 0.13 ms.
        assert!(*gap >= low && *gap <= high + 0.000_13, "{number}: {gap}");
    }
    let mut sums: Vec<f64> = runs.iter().map(|run| run.iter().sum()).collect();
    sums.sort_by(f64::total_cmp);
    let sum: f64 = gaps.iter().sum();
    assert!((sums[100]..sums[1_900]).contains(&sum), "{sum}");
}

#[test]
fn the_documented_intervals_are_reproduced() {
    let ours = waits(Span::from_millis(500), Ratio::ZERO, 10, 0);
    let published = GO.numbers("defaults", "intervals");
    assert_eq!(published.len(), 10);
    for (published, ours) in published.into_iter().zip(ours) {
        // Truncated to three digits, the later ones computed from truncated values.
        assert!((published - ours).abs() < 0.001 * ours, "{published} and {ours}");
    }
}

#[test]
fn a_dynamic_limit_finds_the_capacity_of_the_database() {
    // It handles twenty writes at once. The others time out.
    let law = AimdConcurrency::DEFAULT;
    let policy = Policy::new(law).backoff(None);
    let mut gate: Controller<AimdConcurrency> = Controller::new(policy, 1, Instant::ZERO);
    let (mut flights, mut limits) = (VecDeque::new(), Vec::new());
    for tick in 0..2_000 {
        let now = Instant::ZERO + Span::from_millis(tick);
        while let Decision::Admit(permit) = gate.poll(now, &Call::new()) {
            flights.push_back((permit, flights.len() < 20));
        }
        let (permit, in_time) = flights.pop_front().unwrap();
        gate.settle(now, permit, if in_time { Outcome::Ok } else { Outcome::Failed });
        limits.extend(law.pace(gate.states().next().unwrap(), Instant::ZERO, 0, false).concurrency);
    }
    let settled: Vec<u16> = limits[1_000..].iter().map(|limit| limit.get()).collect();
    assert!(settled.iter().all(|limit| (18..=21).contains(limit)), "{settled:?}");
    assert!(settled.contains(&21) && settled.contains(&18));
}
