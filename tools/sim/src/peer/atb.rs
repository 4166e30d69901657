//! ATB, the adaptive token bucket of "Rethinking HTTP API Rate Limiting: A Client-Side Approach".
//!
//! Source: arXiv 2510.04516v3 and its program, github.com/Bfarkiani/ratelimiter at 5def00a,
//! `ATB.py` with the constants of `configs/ATB/config_1.json`: a bucket of 40 tokens that starts
//! with one and fills at 40 a minute. Each success multiplies the rate by 1.2 and adds at least
//! 0.01 a second; each failure of any kind halves the rate and empties the bucket. The rate is
//! rounded to hundredths of a call a second and is never below 0.01. A call is repeated until it is
//! served.
//!
//! A client of the source makes one call at a time, so each thread is a client here. Omitted: the
//! source also rounds its clock to hundredths of a second, and gives up after ten lost connections,
//! which the simulator does not distinguish from other failures. The rate is limited to 10^9 calls
//! a second, where the numbers of the source overflow after some four thousand successes.
//!
//! Known defects: the rate grows while nothing limits the client, so after a long quiet time one
//! throttled call halves a rate that was never used. It ignores the server's hints. The minimum of
//! 36 calls an hour means that a thousand clients exceed a low limit together.

use tidegate::{Instant, Outcome, Span};

use super::dice::seconds;
use super::threads::Threads;
use crate::throttle::{Answer, Call, Response, Throttle};

const SIZE: f64 = 40.0;
const TOKENS: f64 = 1.0;
const PER_MINUTE: f64 = 40.0;
const GROWTH: f64 = 1.2;
const CUT: f64 = 2.0;
/// The minimum rate, and the minimum growth, in calls a second.
const STEP: f64 = 0.01;
const MOST: f64 = 1e9;

/// The throttle: one bucket per thread.
#[derive(Default)]
pub(super) struct Atb(Threads<Option<Bucket>>);

impl Throttle for Atb {
    fn poll(&mut self, now: Instant, call: &Call) -> Answer {
        let bucket = self.0.of(call.thread).get_or_insert_with(|| Bucket::new(now));
        match bucket.acquire(now, || now) {
            Some(until) => Answer::Wait(until),
            None => Answer::Admit(call.thread.into()),
        }
    }

    fn settle(&mut self, _: Instant, permit: u64, response: &Response) {
        let Some(bucket) = self.0.of(permit as u32) else { return };
        match response.outcome {
            Outcome::Ok => bucket.grow(GROWTH),
            Outcome::Abandoned => {}
            _ => {
                bucket.cut(CUT);
                bucket.tokens = 0.0;
            }
        }
    }

    fn retry(&mut self, _: Instant, _: &mut Call, response: &Response) -> bool {
        response.outcome.is_retryable()
    }

    fn next_at(&self, _: Instant) -> Option<Instant> {
        None
    }
}

/// A token bucket whose rate is set from outside. A client that finds it empty sleeps for the time
/// that the token takes at the current rate, even if the rate changes meanwhile.
#[derive(Clone, Debug)]
pub(super) struct Bucket {
    pub tokens: f64,
    rate: f64,
    /// When the last token was taken.
    last: Instant,
    /// The end of the client's sleep for a token.
    wake: Option<Instant>,
}

impl Bucket {
    pub fn new(now: Instant) -> Self {
        let rate = hundredths(PER_MINUTE / 60.0).max(STEP);
        Self { tokens: TOKENS, rate, last: now, wake: None }
    }

    /// Takes a token, or returns until when the client sleeps. The earliest time is queried once
    /// per token.
    pub fn acquire(
        &mut self,
        now: Instant,
        not_before: impl FnOnce() -> Instant,
    ) -> Option<Instant> {
        let wake = self.wake.unwrap_or_else(|| self.token_at(now).max(not_before()));
        self.wake = Some(wake).filter(|wake| *wake > now);
        if self.wake.is_none() {
            self.tokens = (self.tokens - 1.0).max(0.0);
            self.last = now;
        }
        self.wake
    }

    /// Adds the tokens since the last one was taken, and returns when one is available.
    fn token_at(&mut self, now: Instant) -> Instant {
        let elapsed = now.saturating_since(self.last).as_nanos() as f64 / 1e9;
        self.tokens = (self.tokens + elapsed * self.rate).min(SIZE);
        if self.tokens >= 1.0 {
            return now;
        }
        let missing = seconds((1.0 - self.tokens) / self.rate);
        now.saturating_add(missing.max(Span::from_nanos(1)))
    }

    /// Multiplies the rate.
    pub fn grow(&mut self, times: f64) {
        self.rate = hundredths((self.rate * times).max(self.rate + STEP)).min(MOST);
    }

    /// Divides the rate.
    pub fn cut(&mut self, by: f64) {
        self.rate = hundredths(self.rate / by).max(STEP);
    }

    #[cfg(test)]
    pub fn rate(&self) -> f64 {
        self.rate
    }
}

fn hundredths(number: f64) -> f64 {
    libm::round(number * 100.0) / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::tests::{accepted, at, call, throttled};

    fn rates(bucket: &mut Bucket, change: impl Fn(&mut Bucket), times: usize) -> Vec<f64> {
        (0..times)
            .map(|_| {
                change(bucket);
                bucket.rate()
            })
            .collect()
    }

    #[test]
    fn the_rate_changes_in_hundredths_as_computed_by_hand() {
        let mut bucket = Bucket::new(at(0.0));
        assert_eq!(bucket.rate(), 0.67);
        let up = rates(&mut bucket, |bucket| bucket.grow(GROWTH), 6);
        assert_eq!(up, [0.8, 0.96, 1.15, 1.38, 1.66, 1.99]);
        let down = rates(&mut bucket, |bucket| bucket.cut(CUT), 9);
        assert_eq!(down, [1.0, 0.5, 0.25, 0.13, 0.07, 0.04, 0.02, 0.01, 0.01]);
        // A fifth of a small rate is less than the smallest step.
        let up = rates(&mut bucket, |bucket| bucket.grow(GROWTH), 7);
        assert_eq!(up, [0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08]);
    }

    #[test]
    fn an_unlimited_rate_stays_finite() {
        let mut bucket = Bucket::new(at(0.0));
        assert_eq!(rates(&mut bucket, |bucket| bucket.grow(GROWTH), 10_000)[9_999], MOST);
    }

    #[test]
    fn the_first_call_is_sent_at_once_and_the_second_waits_for_its_token() {
        let mut atb = Atb::default();
        assert_eq!(atb.poll(at(5.0), &call()), Answer::Admit(0));
        atb.settle(at(5.1), 0, &accepted(0));
        // 0.8 a second now, and a tenth of a second has refilled at that rate: 0.92 are missing.
        assert_eq!(atb.poll(at(5.1), &call()), Answer::Wait(at(6.25)));
        assert_eq!(atb.poll(at(6.0), &call()), Answer::Wait(at(6.25)));
        assert_eq!(atb.poll(at(6.25), &call()), Answer::Admit(0));
    }

    #[test]
    fn a_throttled_call_halves_the_rate_and_empties_the_bucket() {
        let mut atb = Atb::default();
        assert_eq!(atb.poll(at(0.0), &call()), Answer::Admit(0));
        atb.settle(at(0.0), 0, &throttled(0));
        // 0.67 / 2 is 0.34 in hundredths: a token takes 2.94 s.
        let Answer::Wait(until) = atb.poll(at(0.0), &call()) else { panic!("it does not wait") };
        assert!((until.as_nanos() as f64 / 1e9 - 1.0 / 0.34).abs() < 1e-6, "{until:?}");
        let mut again = call();
        assert!(atb.retry(at(0.0), &mut again, &throttled(0)));
    }

    #[test]
    fn an_idle_client_accumulates_forty_tokens() {
        let mut bucket = Bucket::new(at(0.0));
        assert_eq!(bucket.acquire(at(1e5), || at(1e5)), None);
        assert_eq!(bucket.tokens, 39.0);
    }

    #[test]
    fn each_thread_is_a_client() {
        let mut atb = Atb::default();
        for thread in 0..3 {
            assert_eq!(atb.poll(at(0.0), &Call { thread, ..call() }), Answer::Admit(thread.into()));
        }
    }
}
