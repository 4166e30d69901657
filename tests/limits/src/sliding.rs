//! A sliding window.

use std::collections::VecDeque;

use crate::Limit;

/// A limit of calls in any period of this length.
#[derive(Clone, Debug)]
pub struct Sliding {
    limit: u64,
    period: u64,
    /// When each unit of the last period was taken.
    taken: VecDeque<u64>,
    now: u64,
}

impl Sliding {
    #[must_use]
    pub const fn new(limit: u64, period: u64) -> Self {
        Self { limit, period, taken: VecDeque::new(), now: 0 }
    }

    fn until(&self, taken: Option<&u64>) -> u64 {
        taken.map_or(0, |at| at.saturating_add(self.period) - self.now)
    }
}

impl Limit for Sliding {
    fn fits(&mut self, now: u64, cost: u64) -> bool {
        self.now = self.now.max(now);
        while self.taken.front().is_some_and(|at| self.now - at >= self.period) {
            self.taken.pop_front();
        }
        cost <= self.remaining()
    }

    fn charge(&mut self, cost: u64) {
        self.taken.extend((0..cost).map(|_| self.now));
    }

    fn most(&self) -> u64 {
        self.limit
    }

    fn remaining(&self) -> u64 {
        self.limit.saturating_sub(self.taken.len() as u64)
    }

    fn reset(&self) -> u64 {
        self.until(self.taken.back())
    }

    fn retry_after(&self, cost: u64) -> u64 {
        if cost > self.limit {
            return u64::MAX;
        }
        match (self.taken.len() as u64 + cost).saturating_sub(self.limit) {
            0 => 0,
            missing => self.until(self.taken.get(missing as usize - 1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_frees_its_place_a_period_later_at_the_exact_nanosecond() {
        let mut window = Sliding::new(2, 1_000);
        for (now, served, remaining, retry, reset) in [
            (100, true, 1, 0, 1_000),
            (600, true, 0, 500, 1_000),
            (1_099, false, 0, 1, 501),
            (1_100, true, 0, 500, 1_000),
            (1_599, false, 0, 1, 501),
            (1_600, true, 0, 500, 1_000),
            (9_000, true, 1, 0, 1_000),
        ] {
            assert_eq!(window.take(now, 1), served, "at {now}");
            let answers = (window.remaining(), window.retry_after(1), window.reset());
            assert_eq!(answers, (remaining, retry, reset), "at {now}");
        }
        assert_eq!((window.retry_after(2), window.retry_after(3)), (1_000, u64::MAX));
    }
}
