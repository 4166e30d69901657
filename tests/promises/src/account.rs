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
    /// Whether the sum is valid. A debt saturates, and a record may not keep it.
    sound: bool,
}

impl Account {
    pub const fn new() -> Self {
        Self { burst: 0, passed: 0, seen: Instant::ZERO, sound: true }
    }

    /// The clock at a call or a debt. Only progress beyond the latest of these instants earns
    /// calls.
    fn see(&mut self, now: Instant) {
        self.passed += u128::from((now - self.seen).as_nanos());
        self.seen = self.seen.max(now);
        // The largest sum of periods that end here extends that of the periods that ended before,
        // or starts now.
        let earned = core::mem::take(&mut self.passed);
        self.burst = self.burst.saturating_sub_unsigned(earned).max(self.after_seen(now));
    }

    /// How long `now` is after the latest instant; negative if the clock stepped back.
    fn after_seen(&self, now: Instant) -> i128 {
        i128::from(now.as_nanos()) - i128::from(self.seen.as_nanos())
    }

    /// Continues after this time on another clock.
    pub fn wake(&mut self, now: Instant, there: Instant, away: Span) {
        // A record keeps no instant after the end of its clock, nor one more than 292 years away.
        let ahead = self.burst.saturating_sub_unsigned(self.passed) - self.after_seen(now);
        let left = (u64::MAX - 1).saturating_sub(now.as_nanos());
        self.sound &= ahead <= i128::from(left.min(i64::MAX as u64 - 1));
        let seen =
            i128::from(there.as_nanos()) - i128::from(away.as_nanos()) - self.after_seen(now);
        // If the new clock has run for less than that, the rest is added now.
        self.passed += u128::try_from(-seen).unwrap_or(0);
        self.seen = Instant::from_nanos(seen.clamp(0, u64::MAX.into()) as u64);
    }

    /// No period has more calls than the burst and its rate allow, for its length plus the 2 ms by
    /// which timers may be late.
    pub fn admit(&mut self, now: Instant, cost: u32, quota: Quota) {
        if cost == 0 {
            return;
        }
        self.see(now);
        self.burst += time_of(cost, quota);
        let allowed = time_of(quota.burst(), quota) + 2_000_000;
        assert!(!self.sound || self.burst <= allowed, "{} ns sent, of {allowed}", self.burst);
        // What is paid for beyond the end of the clock saturates, and a refund does not know how much that was.
        self.sound &= self.burst <= i128::from(u64::MAX - now.as_nanos());
    }

    /// The actual cost of a call differed. A refund makes room for no more than the burst at its
    /// time. A server may report a debt, so it is paid within a day.
    pub fn correct(&mut self, now: Instant, charged: u32, used: u32, quota: Quota) {
        let difference = time_of(used, quota) - time_of(charged, quota);
        if difference <= 0 {
            let earned = i128::try_from(self.passed).unwrap_or(i128::MAX);
            let least = self.burst.min(self.after_seen(now).saturating_add(earned));
            self.burst = (self.burst + difference).max(least);
            return;
        }
        self.see(now);
        let day = i128::from(Span::from_secs(86_400).as_nanos());
        let most = time_of(quota.burst(), quota) + day + self.after_seen(now);
        self.burst = (self.burst + difference).min(most.max(self.burst));
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
