//! Adaptive throttling of the Google SRE book: the client drops each call with a probability
//! computed from the last two minutes.
//!
//! Source: "Site Reliability Engineering", chapter 21 "Handling Overload", 2016. The client counts
//! the *requests* of the layer above, including dropped ones, and the server's *accepts*, over two
//! minutes, and drops the next request with probability
//!
//! max(0, (requests - K * accepts) / (requests + 1)), K = 2.
//!
//! The book does not say when a request is counted. Here it is counted after the decision on it.
//! The two minutes are twelve slots of ten seconds. The book has no retries. Here the layer above
//! repeats a dropped call after 100 ms and a throttled one at once.
//!
//! Known defects: it aims at one throttled call for each accepted one, so half of all calls are
//! throttled regardless of the limit. Accepted clients drop fewer calls, so one client takes
//! everything. After an outage, the two minutes of failures keep clients from a healthy server.

use tidegate::{Instant, Outcome, Span};

use super::backoff::{asleep, sleep};
use super::threads::Threads;
use crate::chance::Chance;
use crate::throttle::{Answer, Call, Response, Throttle};

const K: f64 = 2.0;
const SLOTS: usize = 12;
const SLOT: Span = Span::from_secs(10);
/// How long a dropped call takes to return to the layer above.
const DROPPED: Span = Span::from_millis(100);

pub(super) struct Sre {
    history: History,
    /// When a thread's dropped call returns.
    dropped: Threads<Instant>,
    chance: Chance,
}

impl Sre {
    pub fn new(chance: Chance) -> Self {
        Self { history: History::default(), dropped: Threads::default(), chance }
    }
}

impl Throttle for Sre {
    fn poll(&mut self, now: Instant, call: &Call) -> Answer {
        if let Some(wait) = asleep(now, call) {
            return wait;
        }
        let back = self.dropped.of(call.thread);
        if *back > now {
            return Answer::Wait(*back);
        }
        let reject = self.history.at(now).rejection();
        self.history.count_request();
        if self.chance.unit() < reject {
            *back = now + DROPPED;
            return Answer::Wait(*back);
        }
        Answer::Admit(0)
    }

    fn settle(&mut self, now: Instant, _: u64, response: &Response) {
        if response.outcome == Outcome::Ok {
            self.history.at(now).count_accept();
        }
    }

    fn retry(&mut self, now: Instant, call: &mut Call, response: &Response) -> bool {
        response.outcome.is_retryable() && sleep(now, call, Span::ZERO)
    }
}

/// Two minutes of counts.
#[derive(Default)]
struct History {
    requests: [u32; SLOTS],
    accepts: [u32; SLOTS],
    /// The number of the current slot, counted from the start of the world.
    slot: u64,
}

impl History {
    /// The history as of `now`. Counts older than two minutes are dropped.
    fn at(&mut self, now: Instant) -> &mut Self {
        let slot = now.as_nanos() / SLOT.as_nanos();
        let passed = slot.saturating_sub(self.slot).min(SLOTS as u64);
        for forgotten in slot + 1 - passed..=slot {
            let i = index(forgotten);
            (self.requests[i], self.accepts[i]) = (0, 0);
        }
        self.slot = self.slot.max(slot);
        self
    }

    fn rejection(&self) -> f64 {
        rejection(self.requests.iter().sum(), self.accepts.iter().sum())
    }

    fn count_request(&mut self) {
        self.requests[index(self.slot)] += 1;
    }

    fn count_accept(&mut self) {
        self.accepts[index(self.slot)] += 1;
    }
}

fn index(slot: u64) -> usize {
    (slot % SLOTS as u64) as usize
}

/// The formula of the book.
fn rejection(requests: u32, accepts: u32) -> f64 {
    let (requests, accepts) = (f64::from(requests), f64::from(accepts));
    ((requests - K * accepts) / (requests + 1.0)).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::tests::{accepted, at, call, throttled};

    #[test]
    fn the_probability_matches_the_book() {
        // By hand: (requests - 2 accepts) / (requests + 1).
        let table = [
            (0, 0, 0.0),
            (1, 0, 0.5),
            (100, 100, 0.0),
            (100, 50, 0.0),
            (100, 49, 2.0 / 101.0),
            (100, 25, 50.0 / 101.0),
            (99, 0, 0.99),
            (999, 0, 0.999),
        ];
        for (requests, accepts, expected) in table {
            let ours = rejection(requests, accepts);
            assert!((ours - expected).abs() < 1e-15, "{requests}, {accepts}: {ours}");
        }
    }

    /// A throttle with these counts at the start.
    fn after(requests: u32, accepts: u32) -> Sre {
        let mut sre = Sre::new(Chance::of(9));
        for _ in 0..requests {
            sre.history.count_request();
        }
        for _ in 0..accepts {
            sre.settle(Instant::ZERO, 0, &accepted(0));
        }
        sre
    }

    #[test]
    fn the_stated_share_of_calls_is_dropped() {
        let mut dropped = 0;
        for seed in 0..10_000 {
            let mut sre = Sre { chance: Chance::of(seed), ..after(199, 50) };
            dropped += u32::from(sre.poll(at(1.0), &call()) != Answer::Admit(0));
        }
        // (199 - 100) / 200 = 0.495, within six standard deviations.
        assert!((4_650..=5_250).contains(&dropped), "{dropped} of 10 000");
    }

    #[test]
    fn a_dropped_call_returns_after_a_tenth_of_a_second_and_counts_once() {
        let mut sre = after(1_000_000, 0);
        assert_eq!(sre.poll(at(1.0), &call()), Answer::Wait(at(1.1)));
        assert_eq!(sre.poll(at(1.05), &call()), Answer::Wait(at(1.1)));
        assert_eq!(sre.history.requests.iter().sum::<u32>(), 1_000_001);
        assert_eq!(sre.poll(at(1.1), &call()), Answer::Wait(at(1.2)));
        assert_eq!(sre.history.requests.iter().sum::<u32>(), 1_000_002);
    }

    #[test]
    fn counts_expire_after_two_minutes() {
        let mut sre = after(1_000, 0);
        assert!(sre.history.at(at(119.9)).rejection() > 0.99);
        assert_eq!(sre.history.at(at(120.0)).rejection(), 0.0);
        sre.history.at(at(125.0)).count_request();
        assert_eq!(sre.history.at(at(129.0)).rejection(), 0.5);
        assert_eq!(sre.history.at(at(1e6)).rejection(), 0.0);
    }

    #[test]
    fn throttled_calls_are_repeated_at_once_and_successes_are_not() {
        let mut sre = Sre::new(Chance::of(1));
        let mut throttled_call = call();
        assert!(sre.retry(at(3.0), &mut throttled_call, &throttled(0)));
        assert_eq!(throttled_call.not_before, at(3.0));
        assert!(!sre.retry(at(3.0), &mut throttled_call, &accepted(0)));
    }
}
