//! Vegas: a concurrency limit that grows while the round trip is as short as ever, and shrinks when
//! it shows a queue.
//!
//! Source: github.com/Netflix/concurrency-limits at 78a74b9, `AbstractLimiter` with the
//! `BlockingLimiter` that its documentation recommends for clients: at the limit the caller blocks
//! until a call returns. A throttled call or failure is a *drop*, and an abandoned call is not
//! sampled. The library does not retry. Here a dropped call is repeated after U(0, 100 ms).
//!
//! The limit is that of `VegasLimit.java` with its defaults: it starts at 20 and stays within 1 to 1000. With log = max(1, floor(log10 limit)) and
//! queue = ceil(limit * (1 - shortest / rtt)), each sample moves the limit by
//!
//! - - log on a drop;
//! - nothing if fewer than half of the limit were in flight;
//! - + 6 log while queue ≤ log, + log while queue < 3 log, - log when queue > 6 log.
//!
//! A sample below the shortest round trip replaces it and does nothing else. So does one sample
//! after every U(0.5, 1) * 30 * limit samples, so that the shortest is measured again.
//!
//! Known defects: on a server that throttles without queueing, one success undoes six throttled calls; a new
//! measurement during a queue mistakes it for the unloaded round trip (concurrency-limits, issue 165), and then the
//! limit drifts up.

use tidegate::{Instant, Outcome, Span};

use super::backoff::{asleep, seconds, sleep};
use crate::chance::Chance;
use crate::throttle::{Answer, Call, Response, Throttle};

const PROBE_MULTIPLIER: f64 = 30.0;
/// The longest delay before a dropped call is repeated, in seconds.
const RETRY: f64 = 0.1;

pub(super) struct Vegas {
    limit: f64,
    max: f64,
    in_flight: u32,
    /// The shortest round trip, assumed to be that of the unloaded server.
    shortest: Option<Span>,
    probe: Probe,
    chance: Chance,
}

#[derive(Clone, Copy)]
struct Sample {
    /// Its round-trip time. Never zero.
    rtt: Span,
    /// How many calls were in flight when it was sent, including itself.
    in_flight: u32,
    /// Whether it was throttled or failed.
    dropped: bool,
}

impl Vegas {
    pub fn new(chance: Chance) -> Self {
        let probe = Probe::default();
        Self { limit: 20.0, max: 1_000.0, in_flight: 0, shortest: None, probe, chance }
    }

    fn sample(&mut self, sample: Sample) {
        if self.probe.due(self.limit, &mut self.chance) {
            self.shortest = Some(sample.rtt);
            return;
        }
        match self.shortest {
            Some(shortest) if sample.rtt >= shortest => {
                self.limit = self.target(sample, shortest).clamp(1.0, self.max);
            }
            _ => self.shortest = Some(sample.rtt),
        }
    }

    fn target(&self, sample: Sample, shortest: Span) -> f64 {
        let limit = self.limit;
        if sample.dropped {
            return limit - log10(limit);
        }
        if f64::from(sample.in_flight) * 2.0 < limit {
            return limit;
        }
        let ratio = shortest.as_nanos() as f64 / sample.rtt.as_nanos() as f64;
        let queue = libm::ceil(limit * (1.0 - ratio));
        let log = log10(limit);
        if queue <= log {
            limit + 6.0 * log
        } else if queue < 3.0 * log {
            limit + log
        } else if queue > 6.0 * log {
            limit - log
        } else {
            limit
        }
    }
}

/// When the shortest round trip is measured again.
#[derive(Default)]
struct Probe {
    /// Samples since the last measurement.
    samples: u32,
    /// The next measurement, as a fraction of 30 * limit samples. Drawn at the first sample.
    part: Option<f64>,
}

impl Probe {
    /// Whether this sample is the next measurement.
    fn due(&mut self, limit: f64, chance: &mut Chance) -> bool {
        self.samples += 1;
        let part = *self.part.get_or_insert_with(|| chance.within(0.5, 1.0));
        let due = part * PROBE_MULTIPLIER * limit <= f64::from(self.samples);
        if due {
            *self = Self::default();
        }
        due
    }
}

/// max(1, floor(log10 limit)) of the integer part of the limit.
fn log10(limit: f64) -> f64 {
    f64::from((limit as u32).checked_ilog10().unwrap_or(0).max(1))
}

impl Throttle for Vegas {
    fn poll(&mut self, now: Instant, call: &Call) -> Answer {
        if let Some(wait) = asleep(now, call) {
            return wait;
        }
        if self.in_flight >= self.limit as u32 {
            return Answer::Full;
        }
        self.in_flight += 1;
        // The permit is the number of calls in flight, which the sample needs.
        Answer::Admit(u64::from(self.in_flight))
    }

    fn settle(&mut self, now: Instant, permit: u64, response: &Response) {
        self.in_flight -= 1;
        if response.outcome != Outcome::Abandoned {
            self.sample(Sample {
                rtt: (now - response.sent).max(Span::from_nanos(1)),
                in_flight: permit as u32,
                dropped: response.outcome != Outcome::Ok,
            });
        }
    }

    fn retry(&mut self, now: Instant, call: &mut Call, response: &Response) -> bool {
        let delay = seconds(self.chance.within(0.0, RETRY));
        response.outcome.is_retryable() && sleep(now, call, delay)
    }

    fn in_flight(&self) -> Option<u32> {
        Some(self.in_flight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::tests::{accepted, at, call, throttled};

    /// A sample with this round trip in milliseconds.
    fn took(ms: u64, in_flight: u32) -> Sample {
        Sample { rtt: Span::from_millis(ms), in_flight, dropped: false }
    }

    fn dropped(ms: u64) -> Sample {
        Sample { dropped: true, ..took(ms, 20) }
    }

    /// The limits after each sample.
    fn limits(mut vegas: Vegas, samples: &[Sample]) -> Vec<u32> {
        let mut after = |sample: &Sample| {
            vegas.sample(*sample);
            vegas.limit as u32
        };
        samples.iter().map(&mut after).collect()
    }

    fn within(limit: f64, max: f64) -> Vegas {
        Vegas { limit, max, ..Vegas::new(Chance::of(1)) }
    }

    #[test]
    fn the_limit_matches_the_tests_of_the_source() {
        // VegasLimitTest.java: largeLimitIncrease, increaseLimit, decreaseLimit,
        // noChangeIfWithinThresholds.
        let large = [took(10_000, 5_000), took(10_000, 6_000)];
        assert_eq!(limits(within(10_000.0, 20_000.0), &large), [10_000, 10_024]);
        let cases = [(10, 11, 16), (50, 11, 9), (14, 14, 10)];
        for (ms, in_flight, expected) in cases {
            let samples = [took(10, 10), took(ms, in_flight)];
            assert_eq!(limits(within(10.0, 20.0), &samples), [10, expected], "{ms} ms");
        }
    }

    #[test]
    fn each_rule_matches_values_computed_by_hand() {
        // Limit 100, shortest 100 ms, log 2: queue = ceil(100 (1 - 100 / rtt)).
        let table = [
            (102, 100, 112), // queue 2 <= 2: + 12
            (103, 100, 102), // queue 3 < 6: + 2
            (105, 100, 102), // queue 5 < 6: + 2
            (106, 100, 100), // queue 6: nothing
            (113, 100, 100), // queue 12: nothing
            (114, 100, 98),  // queue 13 > 12: - 2
            (500, 100, 98),  // queue 80: - 2
            (100, 50, 112),  // exactly half of the limit in flight: + 12
            (100, 49, 100),  // fewer: nothing
        ];
        for (ms, in_flight, expected) in table {
            let samples = [took(100, 100), took(ms, in_flight)];
            assert_eq!(limits(within(100.0, 1_000.0), &samples), [100, expected], "{ms} ms");
        }
    }

    #[test]
    fn a_drop_subtracts_the_logarithm() {
        let samples = [took(100, 20), dropped(100), dropped(300), dropped(100)];
        assert_eq!(limits(Vegas::new(Chance::of(1)), &samples), [20, 19, 18, 17]);
    }

    #[test]
    fn the_limit_stays_within_its_bounds() {
        let drops = vec![dropped(100); 15];
        assert_eq!(limits(within(10.0, 20.0), &drops).last(), Some(&1));
        let served = [took(100, 20); 4];
        assert_eq!(limits(within(17.0, 20.0), &served), [17, 20, 20, 20]);
        // Always more in flight and never a queue: from 20 up to the published 1000.
        let busy = vec![took(100, 1_000); 1_000];
        assert_eq!(limits(Vegas::new(Chance::of(1)), &busy).last(), Some(&1_000));
    }

    #[test]
    fn the_shortest_round_trip_is_measured_again_after_fifteen_to_thirty_limits() {
        for seed in 0..100 {
            let mut vegas = Vegas::new(Chance::of(seed));
            // Less than half of the limit in flight, so that the limit does not change.
            vegas.sample(took(100, 1));
            let probed = (2..).find(|_| {
                vegas.sample(took(200, 1));
                vegas.shortest == Some(Span::from_millis(200))
            });
            assert!((300..=600).contains(&probed.unwrap()), "after {probed:?} samples");
        }
    }
    #[test]
    fn a_call_over_the_limit_waits_until_another_completes_and_an_abandoned_one_is_no_sample() {
        let mut vegas = within(2.0, 20.0);
        let polls = [0, 1, 2].map(|_| vegas.poll(at(0.0), &call()));
        assert_eq!(polls, [Answer::Admit(1), Answer::Admit(2), Answer::Full]);
        vegas.settle(at(0.25), 2, &throttled(50_000_000));
        assert_eq!((vegas.in_flight, vegas.shortest), (1, Some(Span::from_millis(200))));
        vegas.settle(
            at(0.3),
            1,
            &Response { outcome: Outcome::Abandoned, ..accepted(200_000_000) },
        );
        assert_eq!((vegas.in_flight, vegas.shortest), (0, Some(Span::from_millis(200))));
    }
}
