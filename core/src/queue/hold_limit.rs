//! How long a call that counts against the limits of several keys keeps permits that it cannot use yet.

use crate::time::{Instant, Span};
use crate::verdict::Verdict;

/// A call waits this many times as long as it keeps permits that it cannot use yet.
const HOLD_SHARE: u64 = 4;

/// How long permits are kept at least, so that calls do not pass them around.
const MOMENT: Span = Span::from_millis(1);

/// How long a call with several keys keeps the permits of some while another key delays it.
///
/// It waits in one queue at a time. When that key admits it, it takes the permits of the others. If one of them delays
/// it, it enters that queue and refunds its permits, so calls of other keys do not wait for it. But two keys in
/// constant demand would never have room at the same time. So a call that is next in its new queue keeps its permits,
/// for up to a quarter of the time that it has waited, if that queue is known to continue by then or waits for a call
/// in flight. This bound grows, so the call is eventually sent. Two calls that each keep what the other needs would
/// wait for nothing: the second refunds its permits at once.
///
/// ```
/// use tidegate::queue::HoldLimit;
/// use tidegate::{Instant, Span, Verdict};
///
/// let at = |seconds| Instant::ZERO + Span::from_secs(seconds);
/// // The key admits the call a second later, and it has waited for eight.
/// let mut hold = HoldLimit::new(at(0), at(0));
/// assert_eq!(hold.until(at(8), true, Verdict::Wait(at(9)), 1, 0), at(10));
/// // Another call keeps a permit of the key, and perhaps waits for those of this one.
/// let mut hold = HoldLimit::new(at(0), at(0));
/// assert!(hold.until(at(8), true, Verdict::Wait(at(9)), 1, 1) <= at(8));
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct HoldLimit {
    since: Instant,
    delayed: Instant,
}

impl HoldLimit {
    /// For a call that has waited since then, and that a key last `delayed` after another one had admitted it;
    /// [`Instant::ZERO`] if none has.
    #[must_use]
    pub const fn new(since: Instant, delayed: Instant) -> Self {
        Self { since, delayed }
    }

    /// Until when the call keeps its permits, now that a key delays it with this verdict; not after `now` if it refunds
    /// them at once. `is_next` is whether it is the first in this key's queue. `in_flight` counts the key's permits, and
    /// `kept` those of them that calls keep while they wait for others.
    pub fn until(
        &mut self,
        now: Instant,
        is_next: bool,
        verdict: Verdict,
        in_flight: u16,
        kept: usize,
    ) -> Instant {
        let waited = (now - self.since).as_nanos();
        let until = now + MOMENT.max(Span::from_nanos(waited / HOLD_SHARE));
        // If it was delayed a moment ago, all calls that keep permits may do the same.
        let again = now < self.delayed + MOMENT;
        self.delayed = now;
        match verdict {
            _ if !is_next => Instant::ZERO,
            Verdict::Full if usize::from(in_flight) > kept => until,
            Verdict::Wait(due) if due <= until && kept == 0 => until,
            // Another call may return its permit at once.
            _ if kept == 0 || again => now + MOMENT,
            _ => Instant::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(millis: u64) -> Instant {
        Instant::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn permits_are_kept_for_a_quarter_of_the_wait_by_the_next_call_of_a_queue_that_continues() {
        let (now, long_ago) = (at(8_000), at(0));
        let (full, waits) = (Verdict::Full, Verdict::Wait(at(9_000)));
        for (since, delayed, verdict, is_next, kept, until) in [
            (at(0), long_ago, waits, true, 0, at(10_000)),
            (at(4_000), long_ago, waits, true, 0, at(9_000)),
            // The queue does not continue in time.
            (at(4_001), long_ago, waits, true, 0, at(8_001)),
            (at(0), long_ago, waits, false, 0, Instant::ZERO),
            // Another call keeps what this one needs.
            (at(0), long_ago, waits, true, 1, Instant::ZERO),
            (at(0), at(7_999), waits, true, 1, Instant::ZERO),
            (at(0), at(8_000), waits, true, 1, at(8_001)),
            // A call in flight ends at some time, unless it is a permit that is kept.
            (at(0), long_ago, full, true, 0, at(10_000)),
            (at(8_000), long_ago, full, true, 0, at(8_001)),
            (at(0), long_ago, full, true, 1, Instant::ZERO),
        ] {
            let mut hold = HoldLimit::new(since, delayed);
            let is = hold.until(now, is_next, verdict, 1, kept);
            assert_eq!(is, until, "{since:?} {delayed:?} {verdict:?} {is_next} {kept}");
            assert_eq!(hold, HoldLimit::new(since, now));
        }
    }
}
