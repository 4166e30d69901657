//! Finagle's retry budget: retries are sent as long as first attempts have paid for them.
//!
//! Source: twitter/finagle `finagle-core` `service/RetryBudget.scala` (commit 0e26b57) with twitter/util
//! `TokenBucket.newLeakyBucket` and `WindowedAdder` (1bdeab5), defaults: each first attempt deposits 1000 tokens that
//! expire after 10 s, each retry withdraws 1000 / 20 % = 5000, and a standing reserve stands for 10 retries a second.
//! The budget says *whether* a call is retried; *when* is decided elsewhere in Finagle. Here it is full jitter from 1
//! s, so that this row differs from `fulljit` only in the budget.
//!
//! **A retry without budget is not sent: the call is given up, and the simulator counts it as
//! lost.**
//!
//! Known defects: the reserve is recomputed at every access, and withdrawals expire as deposits do, so 100 retries may
//! be sent at once and as many again 10 s later; the reserve is for each client process, so many small clients retry
//! without limit; the budget stops retries, but the caller's next call is sent at once, so a caller in a loop hammers
//! as before.

use tidegate::{Instant, Span};

use super::backoff::{Schedule, earlier_failures};
use super::jitter::full_jitter;
use crate::chance::Chance;
use crate::throttle::{Call, Response};

const DEPOSIT: i64 = 1_000;
const WITHDRAWAL: i64 = 5_000;
const TTL_MS: u64 = 10_000;
const MIN_RETRIES_PER_SECOND: i64 = 10;
const RESERVE: i64 = MIN_RETRIES_PER_SECOND * (TTL_MS as i64 / 1_000) * WITHDRAWAL;

#[derive(Default)]
pub(super) struct RetryBudget(Budget);

impl Schedule for RetryBudget {
    fn begin(&mut self, now: Instant) {
        self.0.deposit(milliseconds(now));
    }

    fn delay(
        &mut self,
        now: Instant,
        call: &Call,
        _: &Response,
        chance: &mut Chance,
    ) -> Option<Span> {
        let paid = self.0.withdraw(milliseconds(now));
        paid.then(|| full_jitter(earlier_failures(call), chance))
    }
}

/// Finagle's clock.
fn milliseconds(now: Instant) -> u64 {
    now.as_nanos() / 1_000_000
}

/// The leaky bucket of the budget.
#[derive(Default)]
struct Budget(WindowedAdder<9, { TTL_MS / 10 }>);

impl Budget {
    fn deposit(&mut self, now: u64) {
        self.0.add(now, DEPOSIT);
    }

    /// Pays for a retry. `false` if too few tokens are left.
    fn withdraw(&mut self, now: u64) -> bool {
        let enough = self.0.sum(now) + RESERVE >= WITHDRAWAL;
        if enough {
            self.0.add(now, -WITHDRAWAL);
        }
        enough
    }
}

/// A sum over the last `CLOSED + 1` slices of `SLICE` milliseconds each.
///
/// A slice is closed at the first access after its end, and the next one begins then. So slices
/// drift, as in the source.
struct WindowedAdder<const CLOSED: usize, const SLICE: u64> {
    closed: [i64; CLOSED],
    /// The oldest closed slice, which is overwritten next.
    oldest: usize,
    open: i64,
    opened: u64,
}

impl<const CLOSED: usize, const SLICE: u64> Default for WindowedAdder<CLOSED, SLICE> {
    fn default() -> Self {
        Self { closed: [0; CLOSED], oldest: 0, open: 0, opened: 0 }
    }
}

impl<const CLOSED: usize, const SLICE: u64> WindowedAdder<CLOSED, SLICE> {
    fn add(&mut self, now: u64, amount: i64) {
        self.roll(now);
        self.open += amount;
    }

    fn sum(&mut self, now: u64) -> i64 {
        self.roll(now);
        self.open + self.closed.iter().sum::<i64>()
    }

    /// Closes the open slice if it has ended, and drops one old slice for it and for each slice
    /// without an access since.
    fn roll(&mut self, now: u64) {
        let slices = now.saturating_sub(self.opened) / SLICE;
        if slices == 0 {
            return;
        }
        self.push(self.open);
        for _ in 1..slices.min(CLOSED as u64 + 1) {
            self.push(0);
        }
        (self.open, self.opened) = (0, now);
    }

    fn push(&mut self, slice: i64) {
        self.closed[self.oldest] = slice;
        self.oldest = (self.oldest + 1) % CLOSED;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::backoff::Backoff;
    use crate::peer::tests::{accepted, at, back, call, throttled};
    use crate::throttle::{Answer, Throttle};

    /// A step of a table: elapsed seconds, the amount added, the expected sum.
    type Step = (u64, i64, i64);

    fn replay(steps: &[Step]) {
        let mut adder = WindowedAdder::<2, 1_000>::default();
        let mut now = 0;
        for (i, &(seconds, amount, sum)) in steps.iter().enumerate() {
            now += seconds * 1_000;
            if amount != 0 {
                adder.add(now, amount);
            }
            assert_eq!(adder.sum(now), sum, "step {i}");
        }
    }

    #[test]
    fn the_adder_matches_the_tests_of_the_source() {
        // WindowedAdderTest.scala: three slices of one second.
        replay(&[(0, 1, 1), (0, 1, 2), (0, 3, 5)]);
        replay(&[(0, 1, 1), (1, 0, 1), (0, 2, 3), (1, 0, 3), (1, 0, 2), (1, 0, 0)]);
        replay(&[(0, 1, 1), (1, 2, 3), (1, 1, 4), (2, 0, 1), (100, 0, 0), (0, 100, 100)]);
        replay(&[(0, 100, 100), (1, 0, 100), (0, 100, 200), (1, 100, 300), (100, 0, 0)]);
        replay(&[
            (0, -2, -2),
            (0, 4, 2),
            (1, -2, 0),
            (0, -2, -2),
            (1, -2, -4),
            (1, 0, -6),
            (1, 0, -2),
            (1, 0, 0),
        ]);
    }

    /// How many withdrawals succeed at this millisecond.
    fn drain(budget: &mut Budget, now: u64) -> usize {
        (0..100_000).take_while(|_| budget.withdraw(now)).count()
    }

    #[test]
    fn a_fifth_of_the_calls_may_be_retried_in_addition_to_the_reserve() {
        // RetryBudgetTest.scala: with a stopped clock, n requests pay for n * 20 % retries in
        // addition to the reserve of ttl * minimum = 100.
        for requests in [0, 1, 4, 5, 10, 10_000] {
            let mut budget = Budget::default();
            (0..requests).for_each(|_| budget.deposit(0));
            assert_eq!(drain(&mut budget, 0), 100 + requests / 5, "{requests} requests");
        }
    }

    #[test]
    fn deposits_and_withdrawals_both_expire() {
        let mut budget = Budget::default();
        (0..1_000).for_each(|_| budget.deposit(0));
        assert_eq!(drain(&mut budget, 9_999), 300);
        // The deposits are 10 s old now, the withdrawals are not: 100 - 300 retries are left.
        assert_eq!(drain(&mut budget, 11_000), 0);
        // Once the withdrawals expire, the reserve is complete again without a single success.
        assert_eq!(drain(&mut budget, 30_000), 100);
    }

    #[test]
    fn a_retry_without_budget_is_not_sent() {
        let mut peer = Backoff::new(RetryBudget::default(), Chance::of(1));
        let outcomes = (0..300).map(|_| {
            assert_eq!(peer.poll(at(1.0), &call()), Answer::Admit(0));
            let mut call = back(1);
            let retried = peer.retry(at(1.1), &mut call, &throttled(0));
            assert!(call.not_before <= at(1.1) + Span::from_secs(1));
            retried
        });
        // Each first attempt pays a fifth of its retry, and the reserve pays 100: 100 / 0.8 = 125.
        let sent: Vec<bool> = outcomes.collect();
        assert_eq!(sent.iter().position(|sent| !sent), Some(125));
        assert_eq!(sent.iter().filter(|sent| **sent).count(), 100 + 300 / 5);
        assert!(!peer.retry(at(60.0), &mut back(1), &accepted(0)));
    }
}
