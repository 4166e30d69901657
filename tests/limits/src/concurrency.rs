//! A limit of calls in flight.

use crate::Limit;

/// A limit of calls in flight. Its times are estimates, as it does not know when calls end.
#[derive(Clone, Copy, Debug)]
pub struct Concurrency {
    limit: u64,
    takes: u64,
    in_flight: u64,
}

impl Concurrency {
    /// Calls are expected to take `takes` nanoseconds.
    #[must_use]
    pub const fn new(limit: u64, takes: u64) -> Self {
        Self { limit, takes, in_flight: 0 }
    }

    pub const fn leave(&mut self, cost: u64) {
        self.in_flight -= cost;
    }
}

impl Limit for Concurrency {
    fn fits(&mut self, _: u64, cost: u64) -> bool {
        cost <= self.remaining()
    }

    fn charge(&mut self, cost: u64) {
        self.in_flight += cost;
    }

    fn most(&self) -> u64 {
        self.limit
    }

    fn remaining(&self) -> u64 {
        self.limit.saturating_sub(self.in_flight)
    }

    fn reset(&self) -> u64 {
        self.takes
    }

    fn retry_after(&self, cost: u64) -> u64 {
        match cost {
            cost if cost <= self.remaining() => 0,
            cost if cost <= self.limit => self.takes,
            _ => u64::MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_waits_for_the_expected_time_of_another() {
        let mut places = Concurrency::new(2, 100);
        assert!(places.take(0, 1) && places.take(0, 1) && !places.take(0, 1));
        assert_eq!((places.retry_after(1), places.retry_after(3)), (100, u64::MAX));
        places.leave(1);
        assert_eq!((places.retry_after(1), places.reset()), (0, 100));
    }
}
