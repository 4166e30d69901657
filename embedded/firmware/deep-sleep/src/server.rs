//! The server: five calls a second in bursts of five, until it closes for a while.

use embassy_time::{Duration, Instant};
use tidegate::{Hint, Outcome, Reply, Span};

/// The time in which the server regains one call.
const REGAIN: Duration = Duration::from_millis(200);
const BURST: u32 = 5;

/// The server's state of its only client.
pub struct Server {
    /// When its bucket is full again.
    full: Instant,
    /// The cooldown that it requests, if any.
    closed: Option<Duration>,
}

impl Server {
    pub const fn full_at(full: Instant) -> Self {
        Self { full, closed: None }
    }

    pub fn full_in(&self, now: Instant) -> Duration {
        self.full.saturating_duration_since(now)
    }

    /// From now on it requests a cooldown of this length.
    pub const fn close(&mut self, cooldown: Duration) {
        self.closed = Some(cooldown);
    }

    pub fn serve(&mut self, now: Instant) -> Reply {
        if let Some(cooldown) = self.closed {
            return Outcome::Busy.with(Hint::retry_after(Span::from_micros(cooldown.as_micros())));
        }
        if self.full_in(now) > REGAIN * (BURST - 1) {
            return Outcome::Throttled.into();
        }
        self.full = self.full.max(now) + REGAIN;
        Outcome::Ok.into()
    }
}
