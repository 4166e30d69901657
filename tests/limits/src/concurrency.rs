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

    fn set_limit(&mut self, _: u64, limit: u64) {
        self.limit = limit;
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
    fn after_a_step_down_no_call_is_admitted_until_enough_have_ended() {
        let mut places = Concurrency::new(2, 100);
        assert!(places.take(0, 1) && places.take(0, 1) && !places.take(0, 1));
        assert_eq!((places.retry_after(1), places.reset()), (100, 100));
        places.set_limit(10, 1);
        places.leave(1);
        assert!(!places.take(10, 1), "one is in flight and the limit is one");
        places.leave(1);
        assert!(places.take(10, 1));
    }
}
