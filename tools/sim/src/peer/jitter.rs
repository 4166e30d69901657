//! The AWS jitters: exponential backoff with a random part, retries without end.
//!
//! Source: "Exponential Backoff And Jitter", AWS Architecture Blog, 2015, and its simulator
//! `aws-samples/aws-arch-backoff-simulator`. With `rung = min(cap, base * 2^n)` after the failure
//! number n, counted from 0:
//!
//! - full jitter sleeps U(0, rung);
//! - decorrelated jitter sleeps min(cap, U(base, 3 * the sleep before)), at first 3 * base.
//!
//! The cap is 20 s, that of the AWS clients. The simulator counts n from 1; the clients count from
//! 0, and so does this.
//!
//! Known defects: first attempts are always sent, so the throttled share grows with the number of
//! threads and never settles; a caller that was just served calls again at once, while others sleep
//! for up to 20 s and starve; the server's hints are ignored.

use tidegate::{Instant, Span};

use super::backoff::{Schedule, earlier_failures, seconds};
use super::threads::Threads;
use crate::chance::Chance;
use crate::throttle::{Call, Response};

/// The longest sleep, in seconds.
const CAP: f64 = 20.0;

/// `min(cap, base * 2^n)`, in seconds.
fn rung(base: f64, failures: u32) -> f64 {
    // From 2^64 on even a base of a nanosecond exceeds the cap.
    libm::ldexp(base, failures.min(64) as i32).min(CAP)
}

/// U(0, rung).
pub(super) struct FullJitter {
    base: f64,
}

impl FullJitter {
    /// Full jitter with a first rung of `base` seconds.
    pub fn new(base: f64) -> Self {
        Self { base }
    }

    /// The delay after `failures` earlier failures of the same call.
    pub fn sleep(&self, failures: u32, chance: &mut Chance) -> Span {
        seconds(chance.within(0.0, rung(self.base, failures)))
    }
}

impl Schedule for FullJitter {
    fn delay(
        &mut self,
        _: Instant,
        call: &Call,
        _: &Response,
        chance: &mut Chance,
    ) -> Option<Span> {
        Some(self.sleep(earlier_failures(call), chance))
    }
}

/// min(cap, U(base, 3 * the previous delay)).
pub(super) struct Decorrelated {
    base: f64,
    /// The previous delay, in seconds.
    last: Threads<f64>,
}

impl Decorrelated {
    /// Decorrelated jitter with delays of at least `base` seconds.
    pub fn new(base: f64) -> Self {
        Self { base, last: Threads::default() }
    }
}

impl Schedule for Decorrelated {
    fn delay(
        &mut self,
        _: Instant,
        call: &Call,
        _: &Response,
        chance: &mut Chance,
    ) -> Option<Span> {
        let last = self.last.of(call.thread);
        if earlier_failures(call) == 0 {
            *last = self.base;
        }
        *last = chance.within(self.base, *last * 3.0).min(CAP);
        Some(seconds(*last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::tests::{call, throttled};

    /// The delays in seconds of 10 000 calls after this many failures.
    fn sleeps(schedule: &mut impl Schedule, failures: u32) -> Vec<f64> {
        let mut chance = Chance::of(u64::from(failures));
        let mut delay = |attempt| {
            let call = Call { attempt, ..call() };
            let delay = schedule.delay(Instant::ZERO, &call, &throttled(0), &mut chance);
            delay.unwrap().as_nanos() as f64 / 1e9
        };
        let last = |_| (1..=failures + 1).fold(0.0, |_, attempt| delay(attempt));
        (0..10_000).map(last).collect()
    }

    /// Minimum, mean and maximum.
    fn shape(sleeps: &[f64]) -> (f64, f64, f64) {
        let least = sleeps.iter().fold(f64::MAX, |a, b| a.min(*b));
        let most = sleeps.iter().fold(0.0_f64, |a, b| a.max(*b));
        (least, sleeps.iter().sum::<f64>() / sleeps.len() as f64, most)
    }

    fn near(measured: f64, expected: f64, within: f64) -> bool {
        (measured - expected).abs() <= within
    }

    #[test]
    fn full_jitter_is_uniform_from_zero_to_each_rung() {
        let tops = [(0, 1.0), (1, 2.0), (2, 4.0), (4, 16.0), (5, 20.0), (6, 20.0), (4_000, 20.0)];
        for (failures, top) in tops {
            let mut chance = Chance::of(1);
            let jitter = FullJitter::new(1.0);
            let draw = |_| jitter.sleep(failures, &mut chance).as_nanos() as f64 / 1e9;
            let (least, mean, most) = shape(&(0..10_000).map(draw).collect::<Vec<_>>());
            assert!(least < top * 0.001 && most <= top && most > top * 0.999, "{failures}: {most}");
            // The mean of 10 000 uniform draws: six standard deviations are 0.0173 of the width.
            assert!(near(mean, top / 2.0, top * 0.0174), "{failures}: mean {mean}");
        }
    }

    #[test]
    fn full_jitter_from_a_tenth_has_rungs_ten_times_smaller() {
        for (failures, top) in [(0, 0.1), (1, 0.2), (7, 12.8), (8, 20.0)] {
            let (least, _, most) = shape(&sleeps(&mut FullJitter::new(0.1), failures));
            assert!(least < top * 0.001 && most <= top && most > top * 0.999, "{failures}: {most}");
        }
    }

    #[test]
    fn the_mean_of_decorrelated_jitter_is_half_its_base_plus_one_and_a_half_times_the_last() {
        // E[U(base, 3 s)] = base/2 + 1.5 s: 0.2, 0.35, 0.575 s while far from the cap.
        let expected = [(0, 0.2, 0.3), (1, 0.35, 0.9), (2, 0.575, 2.7)];
        for (failures, expected_mean, top) in expected {
            let (least, mean, most) = shape(&sleeps(&mut Decorrelated::new(0.1), failures));
            assert!(least >= 0.1 && most <= top, "{failures}: {least} to {most}");
            assert!(near(mean, expected_mean, expected_mean * 0.06), "{failures}: mean {mean}");
        }
        let (least, _, most) = shape(&sleeps(&mut Decorrelated::new(0.1), 40));
        assert!(least >= 0.1 && most == 20.0, "{least} to {most}");
    }

    #[test]
    fn a_new_call_resets_decorrelated_jitter() {
        let mut jitter = Decorrelated::new(0.1);
        assert!(shape(&sleeps(&mut jitter, 30)).2 > 3.0);
        assert!(shape(&sleeps(&mut jitter, 0)).2 <= 0.3);
    }
}
