//! The policy of a program that shares budgets.

use tidegate::Span;
use tidegate::shared::{Rank, Standing as Rule, policy_digest};

use crate::budget::PLACES;
use crate::number::{Clock, span};
use crate::policy::{WORDS, expiry, policy};

/// See [`Rule`]. It is that of no policy until it is opened.
pub struct Standing {
    rule: Rule,
    clock: Clock,
}

impl Standing {
    pub const fn new() -> Self {
        Self { rule: Rule::new(0), clock: Clock::NEW }
    }

    /// The policy of a row; returns its digest, or -1 if it is invalid.
    pub fn open(&mut self, row: &[f64; WORDS], heartbeat: f64) -> f64 {
        let Some((policy, ..)) = policy::<1>(row, PLACES as u16) else { return -1.0 };
        let heartbeat = span(heartbeat).unwrap_or(Span::ZERO);
        self.rule = Rule::new(policy_digest(&policy, expiry(row), heartbeat));
        self.rule.digest().into()
    }

    pub fn ask(&mut self, now: f64) {
        self.rule.ask(self.clock.read(now));
    }

    /// Times of day are in milliseconds since 1970, and NaN counts as 0.
    #[expect(clippy::cast_precision_loss, reason = "a start is exact in a double")]
    pub fn start(&self, today: f64) -> f64 {
        self.rule.start(today as u64) as f64
    }

    pub fn hold(&mut self, start: f64) {
        self.rule.hold(start as u64);
    }

    pub fn lost(&mut self, now: f64) {
        self.rule.lost(self.clock.read(now));
    }

    pub fn has_joined(&mut self, now: f64) -> bool {
        self.rule.has_joined(self.clock.read(now))
    }

    /// 0 if the program follows, 1 if it replaces the holder's policy, 2 if its own is replaced, 3 if that policy's start
    /// is too far ahead.
    pub fn meet(&mut self, now: f64, today: f64, start: f64, digest: u32) -> u32 {
        match self.rule.meet(self.clock.read(now), today as u64, start as u64, digest) {
            Rank::Follows => 0,
            Rank::Replaces => 1,
            Rank::Replaced => 2,
            Rank::ReplacedAhead => 3,
        }
    }
}
