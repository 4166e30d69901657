//! Whose policy applies to a budget: that of the program that joined last.

use crate::time::{Instant, Span};

/// A program joins this long after its first request. One that ends earlier replaces no policy.
const JOINS: Span = Span::from_millis(250);

/// The shortest and the longest pause after a loss.
const PAUSE: Span = Span::from_secs(1);
const PAUSE_MOST: Span = Span::from_secs(60);

/// The latest start: a double, as in JavaScript, has each integer up to it.
const LATEST: u64 = 1 << 53;

/// A start is at most this far ahead of the clock: a day, in milliseconds.
const AHEAD: u64 = 86_400_000;

/// The policy of one program among those that share a budget. It says whether the program takes the seat from a holder
/// with another policy. See [the rule](super#whose-policy-applies).
///
/// A policy is told to others by its digest, which is [`policy_digest`](super::policy_digest), and by its start in
/// milliseconds since 1970.
///
/// ```
/// use tidegate::Instant;
/// use tidegate::shared::{Rank, Standing};
///
/// let at = |millis: u64| Instant::from_nanos(millis * 1_000_000);
/// let (mut own, today) = (Standing::new(7), 1_800_000_000_000);
/// own.ask(at(0));
/// // Another program holds the budget, with the policy 8 from a second ago.
/// assert_eq!(own.meet(at(100), today, today - 1_000, 8), Rank::Follows); // has not joined yet
/// assert_eq!(own.meet(at(400), today, today - 1_000, 8), Rank::Replaces);
/// own.hold(own.start(today));
/// // A third one joins later.
/// assert_eq!(own.meet(at(900), today, today + 1, 9), Rank::Replaced);
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Standing {
    digest: u32,
    /// When the first request was sent.
    asked: Option<Instant>,
    /// The start of the policy.
    start: Option<u64>,
    /// The latest pause after a loss, and its end.
    pause: Span,
    until: Instant,
}

/// The result of [`Standing::meet`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Rank {
    /// The program leases from the holder: the policies are equal, or the program may not replace the holder's yet.
    Follows,
    /// The program takes the seat.
    Replaces,
    /// The program leases from the holder, whose policy applies instead of its own.
    Replaced,
    /// The same, and the start of the holder's policy is a day or more ahead of the clock: one of both clocks is wrong.
    ReplacedAhead,
}

impl Standing {
    /// The policy with this digest, of a program that has not sent a request.
    #[must_use]
    pub const fn new(digest: u32) -> Self {
        Self { digest, asked: None, start: None, pause: Span::ZERO, until: Instant::ZERO }
    }

    /// The digest of the policy.
    #[must_use]
    pub const fn digest(&self) -> u32 {
        self.digest
    }

    /// The program sends a request.
    pub const fn ask(&mut self, now: Instant) {
        if self.asked.is_none() {
            self.asked = Some(now);
        }
    }

    /// Whether the program has joined.
    #[must_use]
    pub fn has_joined(&self, now: Instant) -> bool {
        self.asked.is_some_and(|asked| now - asked >= JOINS)
    }

    /// The start of the policy if the program took the seat at this time of day.
    #[must_use]
    pub fn start(&self, today: u64) -> u64 {
        self.start_after(today, 0)
    }

    /// The same if it replaces a policy with the start `former`.
    #[must_use]
    pub fn start_after(&self, today: u64, former: u64) -> u64 {
        let next = bounded(today, former).saturating_add(1).max(today);
        bounded(today, self.start.unwrap_or(next))
    }

    /// The program has taken the seat, with this start of its policy.
    pub fn hold(&mut self, start: u64) {
        self.start = self.start.max(Some(start.min(LATEST)));
    }

    /// The program has lost a seat that it did not leave. It may be slow, so it pauses before it takes one from another
    /// policy: for 1, 2, 4, … s.
    pub fn lost(&mut self, now: Instant) {
        if now < self.until {
            return;
        }
        let is_first = now - self.until > PAUSE_MOST;
        self.pause = if is_first { PAUSE } else { PAUSE_MOST.min(PAUSE.max(self.pause * 2)) };
        self.until = now + self.pause;
    }

    /// The policy of a holder is known. `today` is the time of day, in milliseconds since 1970.
    pub fn meet(&mut self, now: Instant, today: u64, start: u64, digest: u32) -> Rank {
        if digest == self.digest {
            self.hold(bounded(today, start));
            return Rank::Follows;
        }
        if !self.has_joined(now) {
            return Rank::Follows;
        }
        let own = self.start_after(today, start);
        self.start = Some(own);
        if own <= start {
            return if start >= bounded(today, u64::MAX) {
                Rank::ReplacedAhead
            } else {
                Rank::Replaced
            };
        }
        if now >= self.until { Rank::Replaces } else { Rank::Follows }
    }
}

/// A start as far ahead of the clock as it may be. Otherwise, one wrong clock or message could use up all later starts.
fn bounded(today: u64, start: u64) -> u64 {
    start.min(today.saturating_add(AHEAD)).min(LATEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_lost_its_seat_pauses_longer_each_time_until_a_minute_passes_without_a_loss() {
        let mut own = Standing::new(1);
        own.ask(Instant::ZERO);
        own.hold(2);
        let mut now = Instant::ZERO + Span::from_secs(5);
        let pauses = [0, 0, 1, 0, 0, 0, 0, 0, 0, 61, 0].map(|rest| {
            now += Span::from_secs(rest);
            assert_eq!(own.meet(now, 3, 1, 9), Rank::Replaces);
            own.lost(now);
            let begun = now;
            own.lost(now); // the same loss
            while own.meet(now, 3, 1, 9) == Rank::Follows {
                now += Span::from_millis(500);
            }
            (now - begun).as_secs()
        });
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60, 60, 1, 2]);
    }

    /// Starts and times of day at the ends of their ranges, and beside each bound.
    fn ends() -> impl Iterator<Item = u64> {
        let bounds = [0, AHEAD, 1_800_000_000_000, LATEST, u64::MAX / 2, u64::MAX].into_iter();
        let beside = |bound: u64| {
            let [less, more] =
                [AHEAD, 1].map(|by| (bound.saturating_sub(by), bound.saturating_add(by)));
            [less.0, more.0, bound, less.1, more.1]
        };
        bounds.flat_map(beside)
    }

    #[test]
    fn no_program_uses_up_the_starts_whatever_the_clocks_and_starts_are() {
        let later = |millis| Instant::ZERO + Span::from_millis(millis);
        for (today, start) in ends().flat_map(|today| ends().map(move |start| (today, start))) {
            let most = bounded(today, u64::MAX);
            let mut own = Standing::new(1);
            own.ask(Instant::ZERO);
            assert_eq!(own.meet(later(249), today, start, 9), Rank::Follows);
            // It replaces a policy, unless that is from the future.
            let rank = own.meet(later(250), today, start, 9);
            let expected = if start < most { Rank::Replaces } else { Rank::ReplacedAhead };
            assert_eq!(rank, expected, "{start} at {today}");
            assert!(own.start(today) > start || rank != Rank::Replaces);
            assert!((today.min(LATEST)..=most).contains(&own.start(today)), "{start} at {today}");
            // That stays so.
            let next = today.saturating_add(1);
            assert_eq!(
                own.meet(later(251), next, start, 9) == Rank::Replaces,
                rank == Rank::Replaces
            );
            // A program with an equal policy does not carry the start on, and another one that joins later has a later one.
            let mut equal = Standing::new(9);
            equal.ask(Instant::ZERO);
            equal.meet(later(300), today, start, 9);
            assert_eq!(equal.start(today), start.min(most));
            let mut last = Standing::new(2);
            last.ask(Instant::ZERO);
            let rank = last.meet(later(300), next, equal.start(next), 9);
            assert!(rank == Rank::Replaces || most == LATEST, "{start} at {today}");
        }
    }

    #[test]
    fn a_program_that_takes_a_free_seat_has_not_joined_yet() {
        let mut own = Standing::new(1);
        own.ask(Instant::ZERO);
        own.hold(own.start(7));
        let later = |millis| Instant::ZERO + Span::from_millis(millis);
        assert_eq!([249, 250].map(|millis| own.has_joined(later(millis))), [false, true]);
        assert_eq!(own.meet(later(249), 9, 3, 9), Rank::Follows, "of another key");
        assert_eq!(own.meet(later(250), 9, 3, 9), Rank::Replaces);
        assert_eq!(own.start(9), 7);
    }
}
