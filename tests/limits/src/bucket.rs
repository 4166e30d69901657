//! A token bucket, which is equivalent to GCRA (ITU-T I.371).

use crate::Limit;

/// Regains a limit evenly over each period, and holds a burst. Counted in parts, so that nothing is rounded.
#[derive(Clone, Copy, Debug)]
pub struct Bucket {
    /// The parts of a call of cost one.
    price: u128,
    /// The parts that it regains in a nanosecond.
    rate: u128,
    room: u128,
    level: u128,
    now: u64,
}

impl Bucket {
    /// A full bucket of `burst` that regains `limit` in each `period`.
    #[must_use]
    pub const fn new(limit: u64, period: u64, burst: u64) -> Self {
        Self::of_parts(period as u128, limit as u128, burst)
    }

    /// A full bucket of `burst` that regains `rate` parts in a nanosecond. A call of cost one takes `price` parts.
    #[must_use]
    pub const fn of_parts(price: u128, rate: u128, burst: u64) -> Self {
        let room = price * burst as u128;
        Self { price, rate, room, level: room, now: 0 }
    }

    /// The same with this content at `now`, which is at most the burst.
    #[must_use]
    pub const fn holding(self, level: u64, now: u64) -> Self {
        let level = self.price * level as u128;
        Self { level: if level > self.room { self.room } else { level }, now, ..self }
    }

    /// Changes the parts that it regains in a nanosecond, from `at` on.
    pub fn set_rate(&mut self, at: u64, rate: u128) {
        self.fill(at);
        self.rate = rate;
    }

    /// What it holds at `now`, in parts.
    #[must_use]
    pub fn parts(&self, now: u64) -> u128 {
        let gained = self.rate * u128::from(now.saturating_sub(self.now));
        self.level.saturating_add(gained).min(self.room)
    }

    /// Nanoseconds until it has regained these parts.
    fn regains(&self, parts: u128) -> u64 {
        match (parts, self.rate) {
            (0, _) => 0,
            (_, 0) => u64::MAX,
            (parts, rate) => u64::try_from(parts.div_ceil(rate)).unwrap_or(u64::MAX),
        }
    }

    fn fill(&mut self, now: u64) {
        (self.level, self.now) = (self.parts(now), self.now.max(now));
    }

    fn price(&self, cost: u64) -> u128 {
        self.price * u128::from(cost)
    }
}

impl Limit for Bucket {
    fn fits(&mut self, now: u64, cost: u64) -> bool {
        self.fill(now);
        self.price(cost) <= self.level
    }

    fn charge(&mut self, cost: u64) {
        self.level -= self.price(cost);
    }

    fn most(&self) -> u64 {
        u64::try_from(self.room / self.price).unwrap_or(u64::MAX)
    }

    fn remaining(&self) -> u64 {
        u64::try_from(self.level / self.price).unwrap_or(u64::MAX)
    }

    fn reset(&self) -> u64 {
        self.regains(self.room - self.level)
    }

    fn retry_after(&self, cost: u64) -> u64 {
        match self.price(cost) {
            price if price > self.room => u64::MAX,
            price => self.regains(price.saturating_sub(self.level)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_changes_the_rate_at_the_exact_nanosecond() {
        let mut bucket = Bucket::new(10, 1_000, 1).holding(0, 0);
        assert!(bucket.take(100, 1) && bucket.take(950, 1));
        bucket.set_rate(1_000, 1);
        // Half of the call refilled before the step. The other half takes ten times as long.
        for (now, served) in [(1_499, false), (1_500, true), (2_499, false), (2_500, true)] {
            assert_eq!(bucket.take(now, 1), served, "at {now}");
        }
    }

    #[test]
    fn the_largest_numbers_do_not_overflow() {
        let mut fast = Bucket::new(u64::MAX, u64::MAX, u64::MAX);
        assert!(fast.take(0, 1) && fast.take(u64::MAX, 1));
        let mut slow = Bucket::new(1, u64::MAX, 1);
        assert!(slow.take(0, 1));
        assert!(!slow.take(u64::MAX - 1, 1));
        assert!(slow.take(u64::MAX, 1));
    }

    #[test]
    fn what_never_fits_has_the_longest_wait() {
        let mut stopped = Bucket::new(1, 1_000, 5);
        assert_eq!((stopped.retry_after(5), stopped.retry_after(6)), (0, u64::MAX));
        assert!(stopped.take(0, 5));
        stopped.set_rate(0, 0);
        assert_eq!((stopped.retry_after(1), stopped.reset()), (u64::MAX, u64::MAX));
        assert_eq!(Bucket::new(1, 1_000, 5).holding(9, 0).remaining(), 5);
    }
}
