//! The standard retry mode of the AWS SDK for JavaScript and of all clients made with Smithy.
//!
//! Source: smithy-lang/smithy-typescript at 6815d3e (`@smithy/core` 3.33.3, where `@smithy/util-retry` 4.6 lives),
//! `StandardRetryStrategy`, `DefaultRetryBackoffStrategy` and `retryMiddleware`, with the defaults. Three attempts; the
//! n-th retry after U(0, min(base * 2^(n-1), 20 s)), in whole milliseconds, with a base of 500 ms after a 429 and of
//! 100 ms after other errors. A client has 500 retry tokens: a retry takes 5 after a 429 and 10 after a timeout or a
//! 5xx, and is not made where fewer are left; a success gives back what the call's last retry took, or 1 if it had
//! none. A Retry-After lengthens that delay by up to 5 s.
//!
//! The same release has other constants behind `SMITHY_NEW_RETRIES_2026` (14 tokens, 5 after a 429,
//! bases of 50 ms and 1 s); the default is as above, and so is this.
//!
//! **A call that is out of attempts or tokens is given up, and the simulator counts it as lost.**
//!
//! Known defects: first attempts are always sent, so a caller in a loop hammers; a Retry-After of more
//! than a few seconds is cut short.

use std::collections::BTreeMap;

use tidegate::{Instant, Outcome, Span};

use super::{earlier_failures, seconds, sleep};
use crate::chance::Chance;
use crate::throttle::{Call, Response};

const ATTEMPTS: u32 = 3;
const TOKENS: u32 = 500;
const UNUSED: u32 = 1;
const HINT_REACH: Span = Span::from_secs(5);

pub(super) struct Smithy {
    tokens: u32,
    /// The cost of the last retry of each thread's call.
    paid: BTreeMap<u32, u32>,
}

impl Default for Smithy {
    fn default() -> Self {
        Self { tokens: TOKENS, paid: BTreeMap::new() }
    }
}

impl Smithy {
    fn succeed(&mut self, call: &Call) {
        let paid = if earlier_failures(call) == 0 { UNUSED } else { self.paid[&call.thread] };
        self.tokens = TOKENS.min(self.tokens + paid);
    }

    /// Plans the next attempt of a completed call by changing `call`. `false` if there is none.
    pub fn retry(
        &mut self,
        now: Instant,
        call: &mut Call,
        response: &Response,
        chance: &mut Chance,
    ) -> bool {
        if response.outcome == Outcome::Ok {
            self.succeed(call);
        }
        let Some((base, price)) = terms(response.outcome) else { return false };
        if call.attempt >= ATTEMPTS || self.tokens < price {
            return false;
        }
        self.tokens -= price;
        self.paid.insert(call.thread, price);
        let top = rung(base, earlier_failures(call));
        let delay = whole_milliseconds(seconds(chance.within(0.0, top)));
        sleep(now, call, hinted(delay, response.hint.retry_after))
    }
}

/// `min(20 s, base * 2^failures)`, in seconds.
fn rung(base: f64, failures: u32) -> f64 {
    libm::ldexp(base, failures as i32).min(20.0)
}

/// The backoff's base in seconds, and the cost of a retry.
fn terms(outcome: Outcome) -> Option<(f64, u32)> {
    match outcome {
        Outcome::Throttled => Some((0.5, 5)),
        Outcome::Busy | Outcome::Failed => Some((0.1, 10)),
        Outcome::Ok | Outcome::Abandoned | Outcome::Exhausted => None,
    }
}

fn hinted(delay: Span, retry_after: Option<Span>) -> Span {
    retry_after.map_or(delay, |hint| hint.min(delay + HINT_REACH).max(delay))
}

fn whole_milliseconds(span: Span) -> Span {
    Span::from_millis(span.as_nanos() / 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::tests::{accepted, at, back, throttled};
    use tidegate::Hint;

    fn retry(smithy: &mut Smithy, now: f64, call: &mut Call, response: &Response) -> bool {
        smithy.retry(at(now), call, response, &mut Chance::of(1))
    }

    fn failed() -> Response {
        Response { outcome: Outcome::Failed, ..throttled(0) }
    }

    #[test]
    fn the_tokens_match_the_sequences_of_the_source() {
        let mut smithy = Smithy::default();
        let mut step = |response: &Response, attempt, tokens, again| {
            assert_eq!(retry(&mut smithy, 0.0, &mut back(attempt), response), again, "{tokens}");
            assert_eq!(smithy.tokens, tokens);
        };
        // "Retry eventually succeeds": the last retry is refunded.
        step(&failed(), 1, 490, true);
        step(&failed(), 2, 480, true);
        step(&accepted(0), 3, 490, false);
        // "Fail due to max attempts reached": no tokens are taken or refunded.
        step(&throttled(0), 1, 485, true);
        step(&throttled(0), 2, 480, true);
        step(&throttled(0), 3, 480, false);
        // A success at the first attempt adds 1.
        step(&accepted(0), 1, 481, false);
        // At most 500.
        (0..19).for_each(|more| step(&accepted(0), 1, 482 + more, false));
        step(&accepted(0), 1, 500, false);
    }

    #[test]
    fn a_retry_is_not_made_with_too_few_tokens() {
        let mut smithy = Smithy::default();
        let count = |smithy: &mut Smithy, response: &Response| {
            (0..200).filter(|_| retry(smithy, 0.0, &mut back(1), response)).count()
        };
        assert_eq!(count(&mut smithy, &failed()), 50);
        assert_eq!(count(&mut smithy, &throttled(0)), 0);
        smithy.tokens = 9;
        assert_eq!((count(&mut smithy, &failed()), smithy.tokens), (0, 9));
        assert_eq!((count(&mut smithy, &throttled(0)), smithy.tokens), (1, 4));
    }

    #[test]
    fn delays_double_from_their_base_to_twenty_seconds() {
        // The source's delays without jitter: 100, 200 ms and 500 ms, 1 s; the cap is 20 s.
        for (base, failures, top) in
            [(0.1, 0, 0.1), (0.1, 1, 0.2), (0.5, 0, 0.5), (0.5, 1, 1.0), (0.1, 8, 20.0)]
        {
            assert_eq!(rung(base, failures), top, "{base} {failures}");
        }
        let mut smithy = Smithy::default();
        let (mut longest, mut chance) = (Span::ZERO, Chance::of(1));
        for _ in 0..1_000 {
            let mut call = back(2);
            smithy.tokens = TOKENS;
            assert!(smithy.retry(at(7.0), &mut call, &throttled(0), &mut chance));
            let delay = call.not_before - at(7.0);
            assert_eq!(delay.as_nanos() % 1_000_000, 0, "{delay:?}");
            longest = longest.max(delay);
        }
        assert!((990..1_000).contains(&longest.as_millis()), "{longest:?}");
    }

    #[test]
    fn a_retry_after_extends_a_delay_by_at_most_five_seconds() {
        // The source's examples: 1.5 s on 50 ms, and the two bounds.
        for (delay, hint, expected) in
            [(50, 1_500, 1_500), (50, 10, 50), (50, 60_000, 5_050), (900, 900, 900)]
        {
            let [delay, hint, expected] = [delay, hint, expected].map(Span::from_millis);
            assert_eq!(hinted(delay, Some(hint)), expected);
        }
        let mut call = back(1);
        let hint = Hint::retry_after(Span::from_secs(60));
        let mut smithy = Smithy::default();
        assert!(retry(&mut smithy, 0.0, &mut call, &Response { hint, ..throttled(0) }));
        assert!((at(5.0)..at(5.5)).contains(&call.not_before), "{:?}", call.not_before);
    }
}
