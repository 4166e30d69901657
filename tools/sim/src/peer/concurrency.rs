//! Concurrency limits that adapt to the round-trip time.
//!
//! Source: github.com/Netflix/concurrency-limits at 78a74b9, `AbstractLimiter` with the
//! `BlockingLimiter` that its documentation recommends for clients: at the limit the caller blocks
//! until a call returns. A throttled call or failure is a *drop*, and an abandoned call is not
//! sampled. The library does not retry. Here a dropped call is repeated after U(0, 100 ms).

use tidegate::{Instant, Outcome, Span};

use super::backoff::{asleep, seconds, sleep};
use crate::chance::Chance;
use crate::throttle::{Answer, Call, Response, Throttle};

/// The longest delay before a dropped call is repeated, in seconds.
const RETRY: f64 = 0.1;

/// A completed call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// When it completed.
    pub at: Instant,
    /// Its round-trip time. Never zero.
    pub rtt: Span,
    /// How many calls were in flight when it was sent, including itself.
    pub in_flight: u32,
    /// Whether it was throttled or failed.
    pub dropped: bool,
}

/// A rule that adapts the limit.
pub(super) trait Limit {
    /// Learns from a completed call.
    fn sample(&mut self, sample: Sample, chance: &mut Chance);

    /// How many calls may be in flight.
    fn limit(&self) -> u32;
}

/// The limiter.
pub(super) struct Concurrency<L> {
    limit: L,
    in_flight: u32,
    chance: Chance,
}

impl<L> Concurrency<L> {
    pub fn new(limit: L, chance: Chance) -> Self {
        Self { limit, in_flight: 0, chance }
    }
}

impl<L: Limit> Throttle for Concurrency<L> {
    fn poll(&mut self, now: Instant, call: &Call) -> Answer {
        if let Some(wait) = asleep(now, call) {
            return wait;
        }
        if self.in_flight >= self.limit.limit() {
            return Answer::Full;
        }
        self.in_flight += 1;
        // The permit is the number of calls in flight, which the sample needs.
        Answer::Admit(u64::from(self.in_flight))
    }

    fn settle(&mut self, now: Instant, permit: u64, response: &Response) {
        self.in_flight -= 1;
        if response.outcome == Outcome::Abandoned {
            return;
        }
        let sample = Sample {
            at: now,
            rtt: now.saturating_since(response.sent).max(Span::from_nanos(1)),
            in_flight: permit as u32,
            dropped: response.outcome != Outcome::Ok,
        };
        self.limit.sample(sample, &mut self.chance);
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

    /// A constant limit that records its samples.
    #[derive(Default)]
    struct Still(Vec<Sample>);

    impl Limit for Still {
        fn sample(&mut self, sample: Sample, _: &mut Chance) {
            self.0.push(sample);
        }

        fn limit(&self) -> u32 {
            2
        }
    }

    #[test]
    fn a_call_over_the_limit_waits_until_another_completes() {
        let mut peer = Concurrency::new(Still::default(), Chance::of(1));
        let polls = [0, 1, 2].map(|_| peer.poll(at(0.0), &call()));
        assert_eq!(polls, [Answer::Admit(1), Answer::Admit(2), Answer::Full]);
        peer.settle(at(0.25), 1, &accepted(0));
        assert_eq!(peer.in_flight(), Some(1));
        assert_eq!(peer.poll(at(0.25), &call()), Answer::Admit(2));
    }

    #[test]
    fn samples_have_the_round_trip_the_load_when_sent_and_the_drop() {
        let mut peer = Concurrency::new(Still::default(), Chance::of(1));
        let _ = [0, 1].map(|_| peer.poll(at(0.0), &call()));
        peer.settle(at(0.25), 2, &throttled(50_000_000));
        let abandoned = Response { outcome: Outcome::Abandoned, ..accepted(0) };
        peer.settle(at(0.25), 1, &abandoned);
        let [sample] = peer.limit.0[..] else { panic!("{:?}", peer.limit.0) };
        assert_eq!((sample.rtt, sample.in_flight), (Span::from_millis(200), 2));
        assert!(sample.dropped);
        assert_eq!(peer.in_flight(), Some(0));
    }

    #[test]
    fn a_dropped_call_is_repeated_within_a_tenth_of_a_second() {
        let mut peer = Concurrency::new(Still::default(), Chance::of(1));
        let mut call = call();
        for _ in 0..1_000 {
            assert!(peer.retry(at(5.0), &mut call, &throttled(0)));
            assert!((at(5.0)..at(5.1)).contains(&call.not_before), "{:?}", call.not_before);
        }
        assert!(!peer.retry(at(5.0), &mut call, &accepted(0)));
    }
}
