//! Whose policy applies to a budget: that of the program that joined last.

use crate::time::{Instant, Span};

/// A program joins this long after its first request. One that ends earlier replaces no policy.
const JOINS: Span = Span::from_millis(250);

/// The shortest and the longest pause after a loss.
const PAUSE: Span = Span::from_secs(1);
const PAUSE_MOST: Span = Span::from_secs(60);

/// The latest start: a double, as in JavaScript, has each integer up to it.
const LATEST: u64 = 1 << 53;

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
    stage: Stage,
    /// The latest pause after a loss, and its end.
    pause: Span,
    until: Instant,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
enum Stage {
    /// No request was sent.
    New,
    /// When the first request was sent.
    Joining(Instant),
    /// The start of the policy.
    Joined(u64),
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
}

impl Standing {
    /// The policy with this digest, of a program that has not sent a request.
    #[must_use]
    pub const fn new(digest: u32) -> Self {
        Self { digest, stage: Stage::New, pause: Span::ZERO, until: Instant::ZERO }
    }

    /// The digest of the policy.
    #[must_use]
    pub const fn digest(&self) -> u32 {
        self.digest
    }

    /// The program sends a request.
    pub const fn ask(&mut self, now: Instant) {
        if matches!(self.stage, Stage::New) {
            self.stage = Stage::Joining(now);
        }
    }

    /// The start of the policy if the program took the seat at this time of day.
    #[must_use]
    pub const fn start(&self, today: u64) -> u64 {
        self.start_after(today, 0)
    }

    /// The same if it replaces a policy with the start `former`.
    #[must_use]
    pub const fn start_after(&self, today: u64, former: u64) -> u64 {
        let least = former.saturating_add(1);
        match self.stage {
            Stage::Joined(start) => start,
            _ if least > LATEST => LATEST,
            _ if today < least => least,
            _ if today > LATEST => LATEST,
            _ => today,
        }
    }

    /// The policy applies, with this start: the program has taken the seat, or its holder has an equal policy.
    pub fn hold(&mut self, start: u64) {
        self.stage = Stage::Joined(self.start_after(0, 0).max(start.min(LATEST)));
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
            self.hold(start);
            return Rank::Follows;
        }
        if let Stage::Joining(first) = self.stage
            && now - first >= JOINS
        {
            self.stage = Stage::Joined(self.start_after(today, start));
        }
        match self.stage {
            Stage::Joined(own) if own <= start => Rank::Replaced,
            Stage::Joined(_) if now >= self.until => Rank::Replaces,
            _ => Rank::Follows,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_lost_its_seat_pauses_longer_each_time_until_a_minute_passes_without_a_loss() {
        let mut own = Standing::new(1);
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

    #[test]
    fn a_start_is_exact_in_a_double() {
        let mut own = Standing::new(1);
        own.ask(Instant::ZERO);
        assert_eq!(own.start(u64::MAX), LATEST);
        assert_eq!(own.meet(Instant::ZERO + JOINS, 3, LATEST, 9), Rank::Replaced);
        own.meet(Instant::ZERO, 3, u64::MAX, 1);
        assert_eq!(own.start(3), LATEST);
    }
}
