//! The reference accounts of calls sent: plain sums, independent of the gates' arithmetic.

use tidegate::{Instant, Quota, Span};

/// The calls sent of one limit, in excess of its rate.
#[derive(Clone, Copy, Debug)]
pub struct Account {
    /// The maximum over all periods up to the latest call, in the time that the rate takes for it.
    burst: i128,
    /// The time since then that the gate has seen, and the latest instant that it has seen.
    passed: u128,
    seen: Instant,
    /// Whether the sum is valid. A debt saturates, and then it is not.
    sound: bool,
}

impl Account {
    pub const fn new() -> Self {
        Self { burst: 0, passed: 0, seen: Instant::ZERO, sound: true }
    }

    /// The gate has seen the clock: a call was sent, or its cost was corrected. Only progress beyond
    /// the latest instant earns calls.
    pub fn see(&mut self, now: Instant) {
        self.passed += u128::from(now.saturating_since(self.seen).as_nanos());
        self.seen = self.seen.max(now);
    }

    /// Continues after this time on another clock.
    pub fn wake(&mut self, now: Instant, there: Instant, away: Span) {
        self.see(now);
        // If the new clock has run for less than that, the rest is added now.
        let before = away.as_nanos().saturating_sub(there.as_nanos());
        self.passed += u128::from(before);
        let ahead = self.seen.saturating_since(now);
        let then = Instant::from_nanos(there.as_nanos().saturating_sub(away.as_nanos()));
        self.seen = then.saturating_add(ahead);
    }

    /// No period has more calls than the burst and its rate allow, for its length plus the 2 ms by
    /// which timers may be late.
    pub fn admit(&mut self, cost: u32, quota: Quota) {
        if cost == 0 {
            return;
        }
        let earned = core::mem::take(&mut self.passed);
        // The largest sum of periods that end here extends that of the periods that ended before,
        // or starts now.
        self.burst = self.burst.saturating_sub_unsigned(earned).max(0);
        self.burst += time_of(cost, quota);
        let allowed = time_of(quota.burst(), quota) + 2_000_000;
        assert!(!self.sound || self.burst <= allowed, "{} ns sent, of {allowed}", self.burst);
    }

    /// The actual cost of a call differed. A server may report it, so the debt is paid within a
    /// day.
    pub fn correct(&mut self, charged: u32, used: u32, quota: Quota) {
        let earned = core::mem::take(&mut self.passed);
        self.burst = self.burst.saturating_sub_unsigned(earned).max(0);
        let corrected = self.burst + time_of(used, quota) - time_of(charged, quota);
        let day = i128::from(Span::from_secs(86_400).as_nanos());
        let most = (time_of(quota.burst(), quota) + day).max(self.burst);
        self.burst = corrected.clamp(0, most);
        self.sound &= self.burst < i128::from(u64::MAX);
    }
}

fn time_of(cost: u32, quota: Quota) -> i128 {
    i128::from(cost) * i128::from(quota.interval().as_nanos())
}

/// The retries that successes have paid for: an amount per success, the cost of a retry, and a
/// reserve.
#[derive(Clone, Copy, Debug)]
pub struct Retries {
    earned: u64,
    spent: u64,
}

impl Retries {
    pub const NONE: Self = Self { earned: 0, spent: 0 };

    pub fn success(&mut self) {
        self.earned += 1;
    }

    pub fn admit(&mut self, (numerator, denominator, reserve): (u64, u64, u64)) {
        self.spent += 1;
        let paid = reserve * denominator + self.earned * numerator;
        assert!(
            self.spent * denominator <= paid,
            "{} retries, {} successes",
            self.spent,
            self.earned
        );
    }
}
