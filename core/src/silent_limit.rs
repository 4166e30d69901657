//! Limits of servers that end the connection instead of answering.

use crate::fixed::mul_div_floor;
use crate::hint::Hint;
use crate::outcome::{Outcome, Reply};
use crate::time::{Instant, Span};

/// Learns the limit of a server that ends the connection when a client exceeds it, as MQTT brokers do.
///
/// The server says nothing, so the client counts. When a connection is lost, the number of messages in the last period
/// becomes the limit that [`served`](Self::served) describes to the law from then on. Each further loss lowers the limit
/// by a sixteenth at least and by a quarter at most, because the network may be the cause. Without a loss, the limit
/// grows by a sixteenth after 20 minutes, so a server with a constant limit ends about three connections an hour. It is not
/// for fewer than 20 messages a period: bursts after a connection then exceed the limit again and again.
///
/// ```
/// use tidegate::{Hint, Instant, Outcome, SilentLimit, Span};
///
/// let (mut limit, now) = (SilentLimit::new(Span::from_secs(1)), Instant::ZERO);
/// for _ in 0..100 {
///     assert_eq!(limit.served(now), Outcome::Ok.into()); // settle the message with this
/// }
/// let hundred = Hint::quota(100, Span::from_secs(1));
/// let wait = hundred.and_retry_after(Span::from_secs(1));
/// assert_eq!(limit.lost(now), Outcome::Throttled.with(wait)); // and one message in flight with this
/// assert_eq!(limit.served(now), Outcome::Ok.with(hundred));
/// ```
#[derive(Clone, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct SilentLimit {
    period: Span,
    /// The limit, or 0 before the first loss.
    most: u32,
    /// When it was set.
    set: Instant,
    /// The messages that were served in a period from this instant, and in the one before.
    since: Instant,
    sent: u32,
    before: u32,
}

/// After this time without a loss, the limit grows.
const PATIENCE: Span = Span::from_secs(1_200);

impl SilentLimit {
    /// The period is what the server counts by: a second for most brokers.
    #[must_use]
    pub const fn new(period: Span) -> Self {
        let start = Instant::ZERO;
        Self { period, most: 0, set: start, since: start, sent: 0, before: 0 }
    }

    /// A message was served.
    pub fn served(&mut self, now: Instant) -> Reply {
        self.advance(now);
        self.sent = self.sent.saturating_add(1);
        if self.most == 0 {
            return Outcome::Ok.into();
        }
        if now - self.set >= PATIENCE {
            self.set(now, self.most.saturating_add(self.most.div_ceil(16)));
        }
        Outcome::Ok.with(self.quota())
    }

    /// The connection was lost while a message was in flight.
    pub fn lost(&mut self, now: Instant) -> Reply {
        self.advance(now);
        let rest = self.period - (now - self.since);
        let before = mul_div_floor(self.before.into(), rest.as_nanos(), self.period.as_nanos());
        let sent = self.sent.saturating_add(u32::try_from(before).unwrap_or(u32::MAX));
        let [most, least] = [16, 4].map(|part| self.most.saturating_sub(self.most.div_ceil(part)));
        self.set(now, if self.most == 0 { sent } else { sent.max(least).min(most) });
        Outcome::Throttled.with(self.quota().and_retry_after(self.period))
    }

    const fn quota(&self) -> Hint {
        Hint::quota(self.most as u64, self.period)
    }

    fn set(&mut self, now: Instant, most: u32) {
        (self.most, self.set) = (most.max(1), now);
    }

    /// Begins another period if the latest one is over.
    fn advance(&mut self, now: Instant) {
        let ended = self.since + self.period;
        if now >= ended {
            let follows = now < ended + self.period;
            (self.since, self.before) = if follows { (ended, self.sent) } else { (now, 0) };
            self.sent = 0;
        }
    }
}
