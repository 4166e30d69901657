//! A server with a bucket of four calls that regains ten a second.

use embassy_time::Instant;
use tidegate::{Hint, Outcome, Reply, Span};

#[derive(Clone, Copy)]
pub enum Hints {
    None,
    RetryAfter,
    All,
}

pub struct Server {
    /// When its bucket is full again, in ticks.
    full: u64,
    hints: Hints,
}

/// The time in which the server regains one call.
const REGAIN: u64 = 100_000;
const SIZE: u64 = 4;

impl Server {
    pub const fn new(hints: Hints) -> Self {
        Self { full: 0, hints }
    }

    pub fn serve(&mut self) -> Reply {
        let now = Instant::now().as_ticks();
        let missing = |full: u64| full.saturating_sub(now).div_ceil(REGAIN);
        let served = missing(self.full) < SIZE;
        if served {
            self.full = self.full.max(now) + REGAIN;
        }
        let outcome = if served { Outcome::Ok } else { Outcome::Throttled };
        let all = Hint::quota(SIZE, Span::from_millis(400))
            .and_remaining(SIZE.saturating_sub(missing(self.full)))
            .and_reset(Span::from_micros(self.full.saturating_sub(now)));
        let later = Span::from_micros(1_234_567);
        match self.hints {
            Hints::RetryAfter if !served => outcome.with(Hint::retry_after(later)),
            Hints::All if served => outcome.with(all),
            Hints::All => outcome.with(all.and_retry_after(later)),
            _ => outcome.into(),
        }
    }
}
