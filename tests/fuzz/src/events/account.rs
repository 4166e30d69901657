//! What a quota allowed, counted beside the pace that keeps it.

use tidegate::{Instant, Quota};

/// What has left of one limit since the limit began.
#[derive(Clone, Copy, Debug)]
pub struct Account {
    since: Instant,
    latest: Instant,
    spent: i128,
    /// A debt saturates; past that the sum says nothing.
    sound: bool,
}

impl Account {
    pub const fn new(now: Instant) -> Self {
        Self { since: now, latest: now, spent: 0, sound: true }
    }

    /// Whatever the clock does, only the latest instant it has shown earns anything.
    pub fn look(&mut self, now: Instant) {
        // A pace knows of the time when something left, and of none since.
        if self.spent == 0 {
            self.since = self.since.min(now);
        }
        self.latest = self.latest.max(now);
    }

    pub fn leave(&mut self, cost: u32, quota: Quota) {
        if cost == 0 {
            return;
        }
        self.spent += i128::from(cost);
        let passed = u128::from(self.latest.saturating_since(self.since).as_nanos());
        let earned = passed * u128::from(quota.count()) / u128::from(quota.period().as_nanos());
        let allowed = u128::from(quota.burst()) + earned;
        let spent = u128::try_from(self.spent).unwrap_or(0);
        assert!(!self.sound || spent <= allowed, "{spent} left where {quota:?} allows {allowed}");
    }

    pub fn correct(&mut self, charged: u32, used: u32, quota: Quota) {
        self.spent += i128::from(used) - i128::from(charged);
        let units = i128::from(quota.period().as_nanos()).saturating_mul(self.spent);
        self.sound &= units < i128::from(u64::MAX);
    }
}
