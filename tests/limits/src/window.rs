//! A fixed window.

use crate::Limit;

/// A limit of calls in each period. Unused calls expire.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    limit: u64,
    period: u64,
    phase: u64,
    used: u64,
    now: u64,
}

impl Window {
    /// The first window begins at 0.
    #[must_use]
    pub const fn new(limit: u64, period: u64) -> Self {
        Self { limit, period, phase: 0, used: 0, now: 0 }
    }

    /// The same, with 0 this long after the start of a window.
    #[must_use]
    pub const fn at_phase(self, phase: u64) -> Self {
        Self { phase, ..self }
    }

    /// The same, with this much of the window of `now` used up.
    #[must_use]
    pub const fn having_used(self, used: u64, now: u64) -> Self {
        Self { used, now, ..self }
    }

    const fn number(&self, now: u64) -> u64 {
        now.saturating_add(self.phase) / self.period
    }
}

impl Limit for Window {
    fn fits(&mut self, now: u64, cost: u64) -> bool {
        if self.number(now) > self.number(self.now) {
            self.used = 0;
        }
        self.now = self.now.max(now);
        self.used.saturating_add(cost) <= self.limit
    }

    fn charge(&mut self, cost: u64) {
        self.used += cost;
    }

    fn most(&self) -> u64 {
        self.limit
    }

    fn remaining(&self) -> u64 {
        self.limit.saturating_sub(self.used)
    }

    fn reset(&self) -> u64 {
        self.period - self.now.saturating_add(self.phase) % self.period
    }

    fn retry_after(&self, cost: u64) -> u64 {
        match cost {
            cost if cost <= self.remaining() => 0,
            cost if cost <= self.limit => self.reset(),
            _ => u64::MAX,
        }
    }
}
