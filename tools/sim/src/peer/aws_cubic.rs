//! The adaptive retry mode of the AWS SDKs: the retries of the standard mode, behind a token bucket
//! whose rate follows a cubic function.
//!
//! Source: botocore 1.44.5 (`retries/adaptive.py`, `throttling.py`, `bucket.py`), and the vector that
//! the SDKs share (smithy-rs, `client_rate_limiter.rs`). The bucket takes no tokens before the first
//! throttling response. Then each throttling response cuts the rate to 0.7 of the lower one of the
//! bucket's and the measured rate, and each other response moves it along the cubic function of CUBIC
//! (RFC 9438): fast towards the rate of the latest cut, slowly around it, and fast again beyond. The
//! rate is at most twice the measured rate, and at least one call in two seconds. Retries are those of
//! [`Smithy`].
//!
//! Known defects: every throttling response cuts, so twenty in one burst reduce 100 calls a second to
//! one in two seconds. Nothing is measured in the first half second, so a call that is throttled then
//! reduces the rate to the lowest one. It ignores the server's hints, except for a retry's delay.

use tidegate::Instant;

use super::paced::Rule;
use super::smithy::Smithy;
use crate::chance::Chance;
use crate::throttle::{Call, Response};

/// The share of the rate that a cut keeps.
pub(super) const KEPT: f64 = 0.7;
/// The steepness of the cubic function, in calls a second per cubic second.
const SCALE: f64 = 0.4;
const SMOOTHING: f64 = 0.8;
/// The lowest rate, in calls a second.
const FLOOR: f64 = 0.5;

/// The cubic function that sets the rate, and the measured rate that bounds it.
#[derive(Default)]
pub(super) struct AwsCubic {
    /// Whether calls need tokens.
    on: bool,
    /// The rate at the latest cut, and when it was.
    plateau: f64,
    cut_at: f64,
    measured: f64,
    /// The start of the half second that is measured, and the responses since.
    half_second: Option<f64>,
    responses: f64,
    retries: Smithy,
}

impl AwsCubic {
    fn measure(&mut self, now: f64) {
        self.responses += 1.0;
        let half_second = libm::floor(2.0 * now) / 2.0;
        let passed = half_second - self.half_second.unwrap_or(half_second);
        if passed > 0.0 {
            self.measured = SMOOTHING * self.responses / passed + (1.0 - SMOOTHING) * self.measured;
            self.responses = 0.0;
            self.half_second = Some(half_second);
        }
    }
}

impl Rule for AwsCubic {
    const STARTS_EMPTY: bool = true;
    const TOKEN: f64 = 1.0;

    /// Measurements start with the last whole second.
    fn is_free(&mut self, now: f64) -> bool {
        self.half_second.get_or_insert(libm::floor(now));
        !self.on
    }

    fn rate(&mut self, now: f64, rate: f64, throttled: bool, _: bool) -> f64 {
        self.measure(now);
        let next = if throttled {
            self.plateau = if self.on { self.measured.min(rate) } else { self.measured };
            self.cut_at = now;
            self.on = true;
            KEPT * self.plateau
        } else {
            cubic(SCALE, self.plateau, now - self.cut_at)
        };
        next.min(2.0 * self.measured).max(FLOOR)
    }

    fn burst(&self, rate: f64) -> f64 {
        rate.max(1.0)
    }

    fn retry(
        &mut self,
        now: Instant,
        call: &mut Call,
        response: &Response,
        chance: &mut Chance,
    ) -> bool {
        self.retries.retry(now, call, response, chance)
    }
}

/// The function of CUBIC, so many seconds after a cut of `plateau` to [`KEPT`].
pub(super) fn cubic(scale: f64, plateau: f64, passed: f64) -> f64 {
    let distance = passed - libm::cbrt(plateau * (1.0 - KEPT) / scale);
    scale * distance * distance * distance + plateau
}

#[cfg(test)]
mod tests {
    use tidegate::Span;

    use super::*;
    use crate::peer::in_seconds;
    use crate::peer::paced::Paced;
    use crate::peer::tests::{accepted, at, call, throttled};
    use crate::throttle::{Answer, Throttle};

    #[test]
    fn the_vector_that_the_sdks_share_is_reproduced() {
        // After a cut of ten calls a second: the rates from then on, each second.
        let published = [
            7.0,
            9.64893600966,
            10.000030849917364,
            10.453284520772092,
            13.408697022224185,
            21.26626835427364,
            36.425998516920465,
        ];
        for (second, expected) in (0..).zip(published) {
            let rate = cubic(SCALE, 10.0, f64::from(second));
            assert!((rate - expected).abs() < 1e-9, "{second} s: {rate}, not {expected}");
        }
    }

    /// A caller whose calls follow each other.
    struct Caller {
        peer: Paced<AwsCubic>,
        now: Instant,
    }

    impl Caller {
        /// Starts on a whole second, as recorded.
        fn new() -> Self {
            let peer = Paced::new(AwsCubic::default(), 1.0, Chance::of(1));
            Self { peer, now: at(1_000.0) }
        }

        fn pass(&mut self, millis: u64) {
            self.now += Span::from_millis(millis);
        }

        /// Calls that take this many milliseconds, before the bucket is in use.
        fn calls(&mut self, count: u32, millis: u64, response: &Response) {
            for _ in 0..count {
                assert_eq!(self.peer.poll(self.now, &call()), Answer::Admit(0));
                self.pass(millis);
                self.peer.settle(self.now, 0, response);
            }
        }

        /// After so many seconds each: the calls that were answered, and the rate after the last one.
        fn run(&mut self, millis: u64, marks: &[(f64, u32, f64)]) {
            let start = self.now;
            let (mut answered, mut rate, mut left) = (0, f64::NAN, marks);
            while !left.is_empty() {
                match self.peer.poll(self.now, &call()) {
                    Answer::Full => self.now = self.peer.next_at(self.now).unwrap(),
                    _ => {
                        self.pass(millis);
                        while let Some(((mark, calls, expected), later)) = left.split_first()
                            && in_seconds(self.now) - in_seconds(start) > *mark + 1e-6
                        {
                            assert_eq!(answered, *calls, "after {mark} s");
                            let near = answered == 0 || (rate - expected).abs() <= 0.05;
                            assert!(near, "after {mark} s: {rate}, not {expected}");
                            left = later;
                        }
                        self.peer.settle(self.now, 0, &accepted(0));
                        answered += 1;
                        rate = self.peer.rate;
                    }
                }
            }
        }
    }

    // The figures below were recorded with botocore's classes on a fake clock.

    #[test]
    fn a_call_that_is_throttled_before_any_measurement_sets_the_lowest_rate() {
        let mut caller = Caller::new();
        caller.calls(10, 10, &accepted(0));
        caller.calls(1, 10, &throttled(0));
        assert_eq!(caller.peer.rate, 0.5);
        caller.run(1, &[(1.0, 0, 0.5), (5.0, 49, 49.6), (10.0, 985, 399.8)]);
    }

    #[test]
    fn one_throttled_call_at_a_hundred_a_second_costs_three_tenths_of_the_rate() {
        let mut caller = Caller::new();
        caller.calls(1_000, 10, &accepted(0));
        caller.calls(1, 0, &throttled(0));
        assert!((caller.peer.rate - 70.0).abs() < 1e-3, "{}", caller.peer.rate);
        caller.run(
            10,
            &[
                (0.5, 50, 79.5),
                (1.0, 100, 86.7),
                (2.0, 200, 95.6),
                (5.0, 500, 100.2),
                (10.0, 1_000, 177.4),
                (20.0, 2_000, 200.0),
                (60.0, 6_000, 200.0),
            ],
        );
        // A minute without a call lowers the measured rate, and with it the limit.
        caller.pass(60_000);
        caller.run(
            10,
            &[
                (0.1, 10, 40.1),
                (0.5, 50, 161.6),
                (1.0, 100, 192.3),
                (5.0, 500, 200.0),
                (30.0, 3_000, 200.0),
            ],
        );
    }
}
