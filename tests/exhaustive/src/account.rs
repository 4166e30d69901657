//! What a reference remembers of what left: sums of whole numbers, and no gate's arithmetic.

use tidegate::Instant;
use tidegate::gate::WindowPolicy;

use crate::policies::Small;
use crate::promises::that;
use crate::world::{Flight, SLOTS};

/// What has left, and what was paid for it.
#[derive(Clone, Debug)]
pub struct Account {
    /// The most that any stretch of time up to the latest call had beyond what its rate allows, in
    /// parts of calls.
    burst: i128,
    /// The latest instant that the gate had seen by then, and that it has seen.
    counted: Instant,
    seen: Instant,
    retries: u64,
    successes: u64,
}

impl Account {
    pub const fn new() -> Self {
        let start = Instant::ZERO;
        Self { burst: 0, counted: start, seen: start, retries: 0, successes: 0 }
    }

    /// The gate has seen the clock. Only the latest instant of those that it has seen earns anything; of
    /// one that a clock showed while nothing left or came back it cannot know.
    pub fn see(&mut self, now: Instant) {
        self.seen = self.seen.max(now);
    }

    /// A call leaves: no stretch of time has more than the burst and its rate allow.
    pub fn go(&mut self, policy: &Small, cost: u32) -> Result<(), String> {
        let Some((count, period, most)) = policy.quota else { return Ok(()) };
        let passed = i128::from(self.seen.saturating_since(self.counted).as_nanos());
        self.counted = self.seen;
        // The largest sum of all stretches that end here is that of those that ended before, or none.
        self.burst = (self.burst - passed * i128::from(count)).max(0);
        self.burst += i128::from(cost) * i128::from(period);
        let allowed = i128::from(most) * i128::from(period);
        that(self.burst <= allowed, || format!("{} parts left where {allowed} may", self.burst))
    }

    /// It leaves beside these. A lease that has ended does not begin again where the clock steps back.
    pub fn fits(&self, policy: &Small, flights: &[Flight]) -> Result<(), String> {
        let (limit, lease) = policy.window.unwrap_or((SLOTS, WindowPolicy::DEFAULT.lease()));
        let alive = |flight: &&Flight| flight.since.saturating_add(lease) > self.seen;
        let others = flights.iter().filter(alive).count();
        that(others < limit, || format!("{} in flight, where {limit} may be", others + 1))
    }

    /// It leaves as a retry, which the successes have paid for.
    pub fn retry(&mut self, policy: &Small) -> Result<(), String> {
        self.retries += 1;
        let Some((numerator, denominator, reserve)) = policy.budget else { return Ok(()) };
        let paid = reserve * denominator + self.successes * numerator;
        that(self.retries * denominator <= paid, || {
            format!("{} retries for {} successes", self.retries, self.successes)
        })
    }

    pub const fn success(&mut self) {
        self.successes += 1;
    }
}
