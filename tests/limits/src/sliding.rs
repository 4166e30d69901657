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
