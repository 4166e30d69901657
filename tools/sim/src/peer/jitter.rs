//! Full jitter of AWS: exponential backoff with a random part, retries without end.
//!
//! Source: "Exponential Backoff And Jitter", AWS Architecture Blog, 2015, and its simulator
//! `aws-samples/aws-arch-backoff-simulator`. After the failure number n, counted from 0, a call sleeps
//! U(0, min(cap, base * 2^n)).
//!
//! The base is 1 s, and the cap is 20 s, that of the AWS clients. The simulator counts n from 1; the
//! clients count from 0, and so does this.
//!
//! Known defects: first attempts are always sent, so the throttled share grows with the number of
//! threads and never settles; a caller that was just served calls again at once, while others sleep
//! for up to 20 s and starve; the server's hints are ignored.

use tidegate::{Instant, Span};

use super::backoff::{Schedule, earlier_failures, seconds};
use crate::chance::Chance;
use crate::throttle::{Call, Response};

/// The first longest sleep, and the longest of all, in seconds.
const BASE: f64 = 1.0;
const CAP: f64 = 20.0;

/// `min(cap, base * 2^n)`, in seconds.
pub(super) fn rung(base: f64, failures: u32) -> f64 {
    // From 2^64 on even a base of a nanosecond exceeds the cap.
    libm::ldexp(base, failures.min(64) as i32).min(CAP)
}

/// The delay after `failures` earlier failures of the same call.
pub(super) fn full_jitter(failures: u32, chance: &mut Chance) -> Span {
    seconds(chance.within(0.0, rung(BASE, failures)))
}

pub(super) struct FullJitter;

impl Schedule for FullJitter {
    fn delay(
        &mut self,
        _: Instant,
        call: &Call,
        _: &Response,
        chance: &mut Chance,
    ) -> Option<Span> {
        Some(full_jitter(earlier_failures(call), chance))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_jitter_is_uniform_from_zero_to_each_rung() {
        let tops = [(0, 1.0), (1, 2.0), (2, 4.0), (4, 16.0), (5, 20.0), (6, 20.0), (4_000, 20.0)];
        for (failures, top) in tops {
            let mut chance = Chance::of(1);
            let draw = |_| full_jitter(failures, &mut chance).as_nanos() as f64 / 1e9;
            let sleeps: Vec<f64> = (0..10_000).map(draw).collect();
            let least = sleeps.iter().copied().fold(f64::MAX, f64::min);
            let most = sleeps.iter().copied().fold(0.0, f64::max);
            assert!(least < top * 0.001 && most <= top && most > top * 0.999, "{failures}: {most}");
            let mean = sleeps.iter().sum::<f64>() / 10_000.0;
            // The mean of 10 000 uniform draws: six standard deviations are 0.0173 of the width.
            assert!((mean - top / 2.0).abs() <= top * 0.0174, "{failures}: mean {mean}");
        }
    }
}
