//! Limits of servers that end the connection instead of answering.

use crate::fixed::mul_div_floor;
use crate::hint::Hint;
use crate::outcome::{Outcome, Reply};
use crate::time::{Instant, Span};

/// Learns the limit of a server that ends the connection when a client exceeds it, as MQTT brokers do.
///
/// The server says nothing, so the client counts. When a connection is lost, the number of messages in the last period
/// becomes the limit that [`served`](Self::served) describes to the law from then on. Each further loss lowers the limit
/// by a sixteenth to a quarter, because the network may be the cause. The limit stays if fewer than 10 messages were
/// sent in the last period, or fewer than half of the limit without another loss in the last four periods. After 20
/// minutes without a change it grows by a sixteenth, so a server with a constant limit ends about three connections an
/// hour. Do not use it for limits below 20 messages a period, because bursts after a connection exceed these again and
/// again, nor for a link that often ends at full load, which looks like the server's limit.
///
/// ```
/// use tidegate::{Hint, Instant, Outcome, Span, firmware::SilentLimit};
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
    lost: Option<Instant>,
    /// The messages that were served in a period from this instant, and in the one before.
    since: Instant,
    sent: u32,
    before: u32,
}

/// After this time without a loss, the limit grows.
const PATIENCE: Span = Span::from_secs(1_200);

/// A server does not end a connection for fewer messages: half of the least limit.
const FEW: u32 = 10;

impl SilentLimit {
    /// The period is what the server counts by: a second for most brokers.
    #[must_use]
    pub const fn new(period: Span) -> Self {
        let start = Instant::ZERO;
        Self { period, most: 0, set: start, since: start, sent: 0, before: 0, lost: None }
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
        let repeats = self.lost.replace(now).is_some_and(|lost| now - lost <= self.period * 4);
        let enough = if repeats { FEW } else { FEW.max(self.most / 2) };
        if sent >= enough {
            let less = |part: u32| self.most.saturating_sub(part);
            let (most, least) = (less(self.most.div_ceil(16)), less(self.most / 4));
            self.set(now, if self.most == 0 { sent } else { sent.max(least).min(most) });
        }
        let hint = if self.most == 0 { Hint::NONE } else { self.quota() };
        Outcome::Throttled.with(hint.and_retry_after(self.period))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends this many messages a second for a minute before each of 100 losses. Returns what is known then.
    fn flaps(most: u32, rate: u32) -> u32 {
        let (mut limit, mut now) = (SilentLimit::new(Span::from_secs(1)), Instant::ZERO);
        limit.most = most;
        for _ in 0..100 {
            for _ in 0..60 * rate {
                limit.served(now);
                now += Span::from_nanos(1_000_000_000 / u64::from(rate));
            }
            let lost = limit.lost(now);
            assert_eq!(lost.hints[0].retry_after, Some(Span::from_secs(1)));
            assert_eq!(lost.hints[0].limit, (limit.most > 0).then_some(limit.most.into()));
        }
        limit.most
    }

    #[test]
    fn a_link_that_is_lost_every_minute_lowers_no_limit_that_is_not_used() {
        // It grows, because no loss is the server's.
        for (most, rate) in [(100, 40), (100, 5), (100, 1), (20, 9)] {
            assert!(flaps(most, rate) >= most, "{most}, {rate}");
        }
        assert_eq!(flaps(0, 1), 0, "a nearly idle client learns nothing");
    }

    #[test]
    fn a_limit_falls_by_a_quarter_at_most_and_to_less_than_half_after_further_losses() {
        let (mut limit, mut now) = (SilentLimit::new(Span::from_secs(1)), Instant::ZERO);
        let mut all = std::vec::Vec::new();
        for sent in [101, 30, 30, 30, 30, 30, 30, 10, 10, 10] {
            now += Span::from_secs(3);
            (0..sent).for_each(|_| _ = limit.served(now));
            limit.lost(now);
            all.push(limit.most);
        }
        assert_eq!(all, [101, 76, 57, 43, 33, 30, 28, 21, 16, 12]);
    }
}
