//! The servers of the benchmark, like the gem's `gcra_fake_server.rb`.

use tidegate::Instant;

use crate::world::{Answer, Server};

/// The size of the bucket, and its refill per hour.
pub const LIMIT: f64 = 4_500.0;

/// A bucket with floating-point arithmetic and the source's quirk: while it is full, the time of
/// the last call does not change.
#[derive(Clone, Copy, Debug)]
pub struct Bucket {
    left: f64,
    per_second: f64,
    last: Option<Instant>,
}

impl Bucket {
    /// A bucket with this many calls.
    #[must_use]
    pub const fn starting_with(left: f64) -> Self {
        Self { left, per_second: LIMIT / 3_600.0, last: None }
    }

    /// A bucket that is full.
    #[must_use]
    pub const fn full() -> Self {
        Self::starting_with(LIMIT)
    }

    /// The source's `decrease_only` server: full, and never refilled.
    #[must_use]
    pub const fn draining() -> Self {
        Self { left: LIMIT, per_second: 0.0, last: None }
    }
}

impl Server for Bucket {
    fn hit(&mut self, now: Instant) -> Answer {
        let last = *self.last.get_or_insert(now);
        if self.left < LIMIT {
            let gained = crate::seconds(now.saturating_since(last)) * self.per_second;
            self.left = (self.left + gained).min(LIMIT);
            self.last = Some(now);
        }
        let served = self.left >= 1.0;
        if served {
            self.left -= 1.0;
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 4500")]
        let remaining = self.left as u64;
        Answer { served, remaining: Some(remaining) }
    }
}
