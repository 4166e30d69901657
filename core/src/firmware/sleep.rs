//! Time estimates for a device that cannot measure its sleep.

use crate::outcome::{AsReply, Outcome};
use crate::snapshot::{self, Field, SnapshotError};
use crate::time::{Instant, Span};

/// Estimates the sleep of a device whose clock stops while it sleeps, for
/// [`Controller::restore`](crate::Controller::restore).
///
/// Without this estimate, a sleep has to count as no time at all, and a device that sleeps after each call never gets
/// past a long `Retry-After`. The server has a clock, so its responses measure the sleeps: if it says "in 900 s" before
/// a sleep and "in 600 s" after it, that sleep took 300 s. Call [`heard`](Self::heard) with every response, and store a
/// record with the controller's.
///
/// - **Before the first measurement**, a sleep counts as a minute or the time set with [`expect`](Self::expect), or as
///   the rest of the wait that the server asked for, if that is longer. If the next call is throttled, its response is
///   the measurement.
/// - **A measurement** is the time by which a server's `Retry-After` or reset has shrunk when it throttles the next
///   call, or serves it and says that one call less is left. It is weighted by the number of sleeps that it covers,
///   against 16 earlier ones. If the next call is served otherwise, there are two lower bounds: the time by which the
///   reset has shrunk, because that call may have moved the reset, or else the whole `Retry-After`, because it has
///   passed.
/// - **A wrong estimate does not last.** After each 1024 sleeps without a response, one sleep counts as 30
///   days, so that a call can be sent, and the estimate doubles.
///
/// ```
/// use tidegate::{Hint, Instant, Outcome, Span, firmware::SleepClock};
///
/// let (mut clock, now) = (SleepClock::new(), Instant::ZERO);
/// let later = |secs| Outcome::Throttled.with::<1>(Hint::retry_after(Span::from_secs(secs)));
/// let mut record = [0; SleepClock::SNAPSHOT_BYTES];
/// clock.heard(now, later(900));
/// clock.snapshot(now, &mut record).unwrap();
///
/// // A sleep that took 300 s. It counts as all of the 900 s, so a call is sent too soon.
/// let (mut clock, away) = SleepClock::restore(&record, now, None).unwrap();
/// assert_eq!(away, Span::from_secs(900));
/// clock.heard(now, later(600));
/// clock.snapshot(now, &mut record).unwrap();
///
/// // From now on the length of a sleep is known. (The server counts in whole seconds.)
/// let (_, away) = SleepClock::restore(&record, now, None).unwrap();
/// assert_eq!(away, Span::from_secs(299));
/// ```
#[derive(Clone, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct SleepClock {
    /// How long a sleep takes.
    each: Span,
    measured: bool,
    /// Sleeps since the latest response, which were not measured.
    sleeps: u32,
    /// The time since the latest response without these sleeps, up to `since`.
    awake: Span,
    since: Instant,
    /// What the latest response said: how long to wait, and when its period ends.
    wait: Option<Span>,
    reset: Option<Span>,
    /// How many calls it said are left.
    left: Option<u64>,
}

snapshot::fields!(SleepClock { each: Span, measured: bool, sleeps: u32, awake: Span, since: Instant, wait: Option<Span>, reset: Option<Span>, left: Option<u64> });

/// A sleep before the first measurement.
const FIRST: Span = Span::from_secs(60);

/// The weight of the estimate so far, in sleeps.
const WEIGHT: u64 = 16;

/// After this many sleeps without a response, one counts as [`LONG`].
const PATIENCE: u32 = 1_024;

/// Longer than any cooldown.
const LONG: Span = Span::from_secs(30 * 86_400);

/// Servers report whole seconds.
const ROUNDING: Span = Span::from_secs(1);

/// Stands in place of the number of limits. The record of a controller has fewer.
const MARK: usize = u8::MAX as usize;

impl SleepClock {
    /// Length of a record in bytes.
    pub const SNAPSHOT_BYTES: usize = snapshot::length(<Self as Field>::BYTES);

    /// A clock without measurements.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            each: FIRST,
            measured: false,
            sleeps: 0,
            awake: Span::ZERO,
            since: Instant::ZERO,
            wait: None,
            reset: None,
            left: None,
        }
    }

    /// Before the first measurement, a sleep counts as `each`: the time for which the device's timer is set. A server
    /// that reports no times measures nothing, so this remains the estimate.
    pub const fn expect(&mut self, each: Span) {
        if !self.measured {
            self.each = each;
        }
    }

    /// Learns from a response that arrived at `now`. A call without a response (`Failed`, `Abandoned`) reveals nothing
    /// about the server's clock.
    pub fn heard<const LIMITS: usize>(&mut self, now: Instant, reply: impl AsReply<LIMITS>) {
        self.stayed_awake(now);
        reply.with_reply(|reply| {
            if matches!(reply.outcome, Outcome::Failed | Outcome::Abandoned) {
                return;
            }
            let wait = reply.hints.iter().filter_map(|hint| hint.retry_after).max();
            // Both of the same limit.
            let resets = reply.hints.iter().map(|hint| (hint.reset, hint.remaining));
            let (reset, left) = resets.max().unwrap_or_default();
            // If only this call was taken off, no part of the limit has become available, so the reset is the same.
            let is_same = left.is_some() && left.map(|left| left.saturating_add(1)) == self.left;
            let is_throttled = reply.outcome == Outcome::Throttled;
            let (passed, is_exact) = match passed(self.reset, reset) {
                None if is_throttled => (passed(self.wait, wait), true),
                None if reply.outcome == Outcome::Ok => (self.wait, false),
                passed => (passed, is_same || is_throttled),
            };
            if let Some(passed) = passed {
                let asleep = passed - (self.awake + ROUNDING);
                if is_exact || asleep > self.each * self.sleeps.into() {
                    self.measure(asleep);
                }
            }
            (self.wait, self.reset, self.left) = (wait, reset, left);
            (self.awake, self.sleeps) = (Span::ZERO, 0);
        });
    }

    /// The sleeps since the latest response took `asleep` in total.
    fn measure(&mut self, asleep: Span) {
        let weight = if self.measured { WEIGHT } else { 0 };
        let all = (self.each * weight + asleep).as_nanos();
        let sleeps = weight.saturating_add(self.sleeps.into());
        if self.sleeps > 0
            && let Some(each) = all.checked_div(sleeps)
        {
            (self.each, self.measured) = (Span::from_nanos(each), true);
        }
    }

    fn stayed_awake(&mut self, now: Instant) {
        self.awake += now - self.since;
        self.since = now;
    }

    /// Writes the clock to the first [`SNAPSHOT_BYTES`](Self::SNAPSHOT_BYTES) of `record`, and returns their number.
    ///
    /// # Errors
    /// [`SnapshotError::Length`] if `record` is too short.
    pub fn snapshot(&self, now: Instant, record: &mut [u8]) -> Result<usize, SnapshotError> {
        let record = record.get_mut(..Self::SNAPSHOT_BYTES).ok_or(SnapshotError::Length)?;
        let mut clock = self.clone();
        clock.stayed_awake(now);
        snapshot::seal(record, now, MARK, |out| clock.write(out));
        Ok(Self::SNAPSHOT_BYTES)
    }

    /// The clock of a record, and how long the device was away since it was written: `away`, or an estimate
    /// if that is unknown.
    ///
    /// # Errors
    /// [`SnapshotError`] if the record is invalid. Then start with [`SleepClock::new`].
    pub fn restore(
        record: &[u8],
        now: Instant,
        away: Option<Span>,
    ) -> Result<(Self, Span), SnapshotError> {
        let mut input = snapshot::unseal(record, now, Span::ZERO, MARK, Self::SNAPSHOT_BYTES)?;
        let mut clock = Self::read(&mut input);
        if !input.is_whole() {
            return Err(SnapshotError::OtherPolicy);
        }
        clock.stayed_awake(now);
        let away = match away {
            Some(away) => {
                clock.awake += away;
                away
            }
            None => clock.slept(),
        };
        Ok((clock, away))
    }

    /// The assumed length of an unmeasured sleep.
    fn slept(&mut self) -> Span {
        self.sleeps = self.sleeps.saturating_add(1);
        if self.sleeps.is_multiple_of(PATIENCE) {
            self.each = (self.each.max(ROUNDING) * 2).min(LONG);
            return LONG;
        }
        match self.wait.or(self.reset) {
            Some(asked) if !self.measured => self.each.max(asked - self.awake),
            _ => self.each,
        }
    }
}

/// By how much a time that was reported twice has shrunk.
fn passed(before: Option<Span>, after: Option<Span>) -> Option<Span> {
    let (before, after) = before.zip(after)?;
    (after < before).then(|| before - after)
}

impl Default for SleepClock {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hint::Hint;
    use crate::outcome::Reply;

    /// What happens to a device, in seconds.
    #[derive(Clone, Copy, Debug)]
    enum Event {
        Awake(u64),
        Reply(Outcome, Option<u64>, Option<u64>),
        /// A call was served: how many are left, and the reset.
        Left(u64, u64),
        Asleep(Option<u64>),
    }
    use Event::{Asleep, Awake, Left};

    const SECOND: u64 = 1_000_000_000;

    const fn throttled(wait: u64) -> Event {
        Event::Reply(Outcome::Throttled, Some(wait), None)
    }

    const fn ok(reset: u64) -> Event {
        Event::Reply(Outcome::Ok, None, Some(reset))
    }

    /// How many nanoseconds the next sleep counts as.
    fn next_sleep(events: &[Event]) -> u64 {
        let (mut clock, mut now) = (SleepClock::new(), Instant::ZERO);
        let mut record = [0; SleepClock::SNAPSHOT_BYTES];
        let mut away = Span::ZERO;
        for &event in events.iter().chain(&[Asleep(None)]) {
            match event {
                Awake(seconds) => now += Span::from_secs(seconds),
                Event::Reply(outcome, wait, reset) => {
                    let hint = wait.map(|secs| Hint::retry_after(Span::from_secs(secs)));
                    let reset = reset.map(Span::from_secs);
                    let hint = match (hint, reset) {
                        (Some(hint), Some(reset)) => hint.and_reset(reset),
                        (Some(hint), None) => hint,
                        (None, Some(reset)) => Hint::remaining(0).and_reset(reset),
                        (None, None) => Hint::remaining(0),
                    };
                    let reply: Reply<1> = outcome.with(hint);
                    clock.heard(now, reply);
                }
                Left(left, reset) => {
                    let hint = Hint::remaining(left).and_reset(Span::from_secs(reset));
                    clock.heard::<1>(now, Outcome::Ok.with(hint));
                }
                Asleep(known) => {
                    clock.snapshot(now, &mut record).unwrap();
                    let known = known.map(Span::from_secs);
                    let read = SleepClock::restore(&record, now, known).unwrap();
                    (clock, away) = read;
                }
            }
        }
        away.as_nanos()
    }

    #[test]
    fn a_sleep_counts_as_what_the_server_has_measured_or_asked_for() {
        const ASLEEP: Event = Asleep(None);
        let both = |outcome, wait, reset| Event::Reply(outcome, Some(wait), Some(reset));
        let cases: &[(&[Event], u64)] = &[
            // Before the first measurement: a minute, or the rest of what the server asked for.
            (&[], 60 * SECOND),
            (&[throttled(30)], 60 * SECOND),
            (&[throttled(900)], 900 * SECOND),
            (&[throttled(900), Awake(100)], 800 * SECOND),
            (&[ok(500)], 500 * SECOND),
            (&[both(Outcome::Throttled, 700, 900)], 700 * SECOND),
            // A sleep of a known length passes, and is no measurement.
            (&[throttled(900), Asleep(Some(200))], 700 * SECOND),
            (&[throttled(900), Asleep(Some(200)), throttled(600)], 600 * SECOND),
            (
                &[throttled(900), ASLEEP, throttled(600), Asleep(Some(100)), throttled(400)],
                299 * SECOND,
            ),
            // The server counts in whole seconds, so a sleep took at least what is measured.
            (&[throttled(900), ASLEEP, throttled(600)], 299 * SECOND),
            (&[throttled(900), ASLEEP, throttled(880)], 19 * SECOND),
            (&[throttled(900), Awake(50), ASLEEP, Awake(10), throttled(600)], 239 * SECOND),
            (&[throttled(900), ASLEEP, ASLEEP, throttled(300)], 599 * SECOND / 2),
            // A second measurement counts against 16 sleeps of the first.
            (
                &[throttled(900), ASLEEP, throttled(600), ASLEEP, throttled(100)],
                (299 * 16 + 499) * SECOND / 17,
            ),
            // The time that was not shortened measures nothing.
            (&[throttled(900), ASLEEP, throttled(900)], 900 * SECOND),
            (&[throttled(900), ASLEEP, throttled(950)], 950 * SECOND),
            // A reset goes before the wait if it was shortened.
            (
                &[both(Outcome::Throttled, 900, 900), ASLEEP, both(Outcome::Throttled, 890, 600)],
                299 * SECOND,
            ),
            (
                &[both(Outcome::Throttled, 900, 900), ASLEEP, both(Outcome::Throttled, 600, 950)],
                299 * SECOND,
            ),
            // A call that was served may have moved the reset, so only a longer sleep counts.
            (&[ok(1_000), ASLEEP, ok(700)], 299 * SECOND),
            (&[ok(1_000), ASLEEP, ok(939)], 939 * SECOND),
            (&[ok(1_000), ASLEEP, ok(938)], 61 * SECOND),
            (&[ok(1_000), ASLEEP, ASLEEP, ok(879)], 879 * SECOND),
            // Unless only this call was taken off what is left.
            (&[Left(8, 1_000), ASLEEP, Left(7, 939)], 60 * SECOND),
            (
                &[Left(8, 1_000), ASLEEP, Left(7, 700), ASLEEP, Left(6, 600)],
                (299 * 16 + 99) * SECOND / 17,
            ),
            (&[Left(8, 1_000), ASLEEP, Left(7, 700), ASLEEP, Left(5, 600)], 299 * SECOND),
            (&[Left(8, 1_000), ASLEEP, Left(7, 700), ASLEEP, Left(6, 900)], 299 * SECOND),
            (
                &[
                    Event::Reply(Outcome::Ok, Some(900), None),
                    ASLEEP,
                    Event::Reply(Outcome::Ok, Some(600), None),
                ],
                899 * SECOND,
            ),
            // A call that is served after a wait shows that the wait has passed.
            (&[throttled(900), ASLEEP, ASLEEP, ok(1_000)], 899 * SECOND / 2),
            (&[throttled(900), ASLEEP, throttled(598), ASLEEP, ASLEEP, ok(1_000)], 301 * SECOND),
            (
                &[throttled(900), ASLEEP, throttled(600), ASLEEP, ok(1_000)],
                (299 * 16 + 599) * SECOND / 17,
            ),
        ];
        for (events, expected) in cases {
            assert_eq!(next_sleep(events), *expected, "{events:?}");
        }
    }

    #[test]
    fn what_is_left_counts_for_the_limit_of_the_reset_and_a_passed_wait_is_a_bound() {
        let hint = |left, reset| Hint::remaining(left).and_reset(Span::from_secs(reset));
        let wait = Hint::remaining(8).and_retry_after(Span::from_secs(30));
        let two = [hint(8, 60), hint(9, 1_000)];
        for (outcome, first, then, expected) in [
            // One less is left of the limit that ends first: it says nothing about the other.
            (Outcome::Ok, two, [hint(7, 60), hint(5, 990)], 60),
            (Outcome::Ok, two, [hint(5, 60), hint(8, 990)], 9),
            // The sleep took at least this wait, and counts as a minute.
            (Outcome::Throttled, [wait; 2], [Hint::remaining(7); 2], 60),
        ] {
            let (mut clock, now) = (SleepClock::new(), Instant::ZERO);
            clock.heard(now, Reply { outcome, hints: first, ..outcome.into() });
            clock.sleeps = 1;
            let outcome = Outcome::Ok;
            clock.heard(now, Reply { outcome, hints: then, ..outcome.into() });
            assert_eq!(clock.each, Span::from_secs(expected), "{first:?}");
        }
    }

    #[test]
    fn the_last_of_1024_sleeps_without_a_response_is_long_and_doubles_the_estimate() {
        for (events, before, after) in [
            (&[][..], 60, 120),
            (&[throttled(900), Asleep(None), throttled(899)], 0, 2),
            (
                &[throttled(60 * 86_400), Asleep(None), throttled(20 * 86_400)],
                40 * 86_400 - 1,
                30 * 86_400,
            ),
        ] {
            let sleeps = |sleeps: usize| {
                let asleep = [Asleep(None); 1_024];
                next_sleep(&[events, &asleep[..sleeps]].concat())
            };
            assert_eq!(sleeps(1_022), before * SECOND);
            assert_eq!(sleeps(1_023), LONG.as_nanos());
            assert_eq!(sleeps(1_024), after * SECOND);
        }
    }
}
