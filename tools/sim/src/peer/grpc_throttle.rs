//! gRPC's retry policy with its retry throttling.
//!
//! Source: gRFC A6 "gRPC Retry Design" (grpc/proposal `A6-client-retries.md`), with the throttle of
//! grpc-go `clientconn.go` and of grpc core `retry_throttle.cc`: 10 tokens, one taken by each failure,
//! 0.1 given by each success, and a retry only while more than half of them are left. The policy:
//! five attempts, the most that a client allows by default; the n-th retry after
//! min(initial * multiplier^(n-1), max) ±20 %. A6 leaves the three numbers to the service; here they
//! are those that gRPC publishes for its own reconnections: 1 s, 1.6, 120 s. A server's Retry-After is
//! taken as gRPC's pushback: exactly that long, then from the initial backoff again.
//!
//! **A call that is out of attempts or tokens is given up, and the simulator counts it as lost.**
//!
//! Known defects: the throttle knows only on and off, for the whole process; below half the tokens
//! every throttled call is a lost call and the next first attempt is sent at once, so a caller in a loop
//! hammers; ten failures in a row need 51 successes before anything is retried again; ±20 % comes
//! after the cap and exceeds it.

use tidegate::{Instant, Outcome, Span};

use super::backoff::{asleep, earlier_failures, sleep};
use super::dice::{Dice, seconds};
use super::threads::Threads;
use crate::throttle::{Answer, Call, Response, Throttle};

const ATTEMPTS: u32 = 5;
const INITIAL: f64 = 1.0;
const MULTIPLIER: f64 = 1.6;
const MAX: f64 = 120.0;
const JITTER: f64 = 0.2;

/// The throttle.
pub(super) struct GrpcThrottle {
    tokens: Tokens,
    /// How many failures of a call do not count for its backoff, because a pushback followed.
    forgiven: Threads<u32>,
    dice: Dice,
}

impl GrpcThrottle {
    pub fn new(dice: Dice) -> Self {
        Self { tokens: Tokens::new(10_000, 100), forgiven: Threads::default(), dice }
    }

    fn delay(&mut self, call: &Call, pushback: Option<Span>) -> Span {
        let forgiven = self.forgiven.of(call.thread);
        if earlier_failures(call) == 0 {
            *forgiven = 0;
        }
        if let Some(pushback) = pushback {
            *forgiven = call.attempt;
            return pushback;
        }
        let failures = earlier_failures(call).saturating_sub(*forgiven);
        seconds(rung(failures) * self.dice.between(1.0 - JITTER, 1.0 + JITTER))
    }
}

/// The delay in seconds after this many earlier failures, before jitter.
fn rung(failures: u32) -> f64 {
    (INITIAL * libm::pow(MULTIPLIER, f64::from(failures))).min(MAX)
}

impl Throttle for GrpcThrottle {
    fn poll(&mut self, now: Instant, call: &Call) -> Answer {
        asleep(now, call).unwrap_or(Answer::Admit(0))
    }

    fn settle(&mut self, _: Instant, _: u64, response: &Response) {
        match response.outcome {
            Outcome::Ok => self.tokens.success(),
            Outcome::Throttled | Outcome::Busy | Outcome::Failed => self.tokens.failure(),
            Outcome::Abandoned | Outcome::Exhausted => {}
        }
    }

    fn retry(&mut self, now: Instant, call: &mut Call, response: &Response) -> bool {
        let again =
            response.outcome.is_retryable() && self.tokens.allow_retry() && call.attempt < ATTEMPTS;
        if !again {
            return false;
        }
        let delay = self.delay(call, response.hint.retry_after);
        sleep(now, call, delay)
    }

    fn next_at(&self, _: Instant) -> Option<Instant> {
        None
    }
}

/// The tokens of a server name, in thousandths because the ratio has three decimals.
struct Tokens {
    count: u32,
    max: u32,
    ratio: u32,
}

impl Tokens {
    fn new(max: u32, ratio: u32) -> Self {
        Self { count: max, max, ratio }
    }

    fn success(&mut self) {
        self.count = self.max.min(self.count + self.ratio);
    }

    fn failure(&mut self) {
        self.count = self.count.saturating_sub(1_000);
    }

    fn allow_retry(&self) -> bool {
        self.count > self.max / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::tests::{accepted, at, back, throttled};
    use tidegate::Hint;

    #[test]
    fn the_tokens_match_the_test_of_grpc_core() {
        // retry_throttle_test.cc: 4 tokens, ratio 1.6. Each step is a success, or a failure and
        // whether it may be retried.
        let (success, may, not) = (None, Some(true), Some(false));
        let table = [
            may, success, may, not, not, not, not, success, success, may, not, success, not,
            success, may,
        ];
        let mut tokens = Tokens::new(4_000, 1_600);
        for (i, step) in table.into_iter().enumerate() {
            match step {
                None => tokens.success(),
                Some(allowed) => {
                    tokens.failure();
                    assert_eq!(tokens.allow_retry(), allowed, "step {i}");
                }
            }
        }
    }

    #[test]
    fn the_throttle_matches_the_test_of_grpc_go() {
        // TestRetryThrottling: 10 tokens, ratio 0.5. The server serves replies number 0, 3, 6, ...
        // Each row: whether the call is served, and the number of its last reply.
        let served = [0, 3, 6, 10, 11, 12, 13, 14, 16, 18];
        let table = [
            (true, 0),
            (true, 3),
            (true, 6),
            (false, 8),
            (false, 9),
            (true, 10),
            (true, 11),
            (true, 12),
            (true, 13),
            (true, 14),
            (true, 16),
            (false, 17),
        ];
        let mut peer = GrpcThrottle { tokens: Tokens::new(10_000, 500), ..throttle() };
        let mut replies = 0..;
        for row in table {
            let mut call = back(0);
            let last = loop {
                let reply = replies.next().unwrap();
                let ok = served.contains(&reply);
                let response = if ok { accepted(0) } else { throttled(0) };
                peer.settle(at(0.0), 0, &response);
                call.attempt += 1;
                if !peer.retry(at(0.0), &mut call, &response) {
                    break (ok, reply);
                }
            };
            assert_eq!(last, row);
        }
    }

    fn throttle() -> GrpcThrottle {
        GrpcThrottle::new(Dice::new(3))
    }

    #[test]
    fn ten_failures_need_fifty_one_successes_before_a_retry() {
        let mut peer = throttle();
        (0..10).for_each(|_| peer.settle(at(0.0), 0, &throttled(0)));
        let needed = (1..).find(|_| {
            peer.settle(at(0.0), 0, &accepted(0));
            peer.tokens.allow_retry()
        });
        assert_eq!(needed, Some(51));
    }

    #[test]
    fn a_call_has_five_attempts() {
        let mut peer = throttle();
        let again = |attempts| peer.retry(at(0.0), &mut back(attempts), &throttled(0));
        assert_eq!([1, 2, 3, 4, 5, 6].map(again), [true, true, true, true, false, false]);
    }

    #[test]
    fn delays_grow_by_a_factor_of_1_6_with_twenty_per_cent_jitter_also_at_the_cap() {
        // 1.6^n by hand.
        let rungs =
            [(0, 1.0), (1, 1.6), (2, 2.56), (3, 4.096), (10, 109.951_162_777_6), (11, 120.0)];
        for (failures, seconds) in rungs {
            assert!((rung(failures) - seconds).abs() < 1e-9, "{failures}: {}", rung(failures));
            let mut peer = throttle();
            let call = back(failures + 1);
            let delays = (0..10_000).map(|_| peer.delay(&call, None).as_nanos() as f64 / 1e9);
            let (least, most) =
                delays.fold((f64::MAX, 0.0_f64), |(a, b), delay| (a.min(delay), b.max(delay)));
            assert!((seconds * 0.8..seconds * 0.801).contains(&least), "{failures}: {least}");
            assert!((seconds * 1.199..=seconds * 1.2).contains(&most), "{failures}: {most}");
        }
    }

    #[test]
    fn a_pushback_is_exact_and_resets_the_backoff() {
        let mut peer = throttle();
        let hint = Hint::retry_after(Span::from_millis(7_000));
        let told = Response { hint, ..throttled(0) };
        let mut call = back(3);
        assert!(peer.retry(at(10.0), &mut call, &told));
        assert_eq!(call.not_before, at(17.0));
        call.attempt = 4;
        assert!(peer.retry(at(20.0), &mut call, &throttled(0)));
        assert!((at(20.8)..=at(21.2)).contains(&call.not_before), "{:?}", call.not_before);
    }
}
