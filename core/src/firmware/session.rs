//! The session: when a connection may be opened again.

use crate::backoff::Backoff;
use crate::rng::Rng;
use crate::snapshot::{self, Field, SnapshotError};
use crate::time::{Instant, Span};

/// Decides when a client may try to connect. It is for MQTT and TLS sessions, which are expensive to open, and which
/// all clients of a server lose at the same time.
///
/// - A backoff delay follows each attempt, and only a session that lasted for `stable` resets the backoff. So a server
///   that accepts a connection and drops it at once does not receive more attempts.
/// - [`link_up`](Self::link_up) allows the next attempt at once, because the network caused the earlier failures. It
///   has an effect at most once per `stable`, because links flap.
/// - [`with_spread`](Self::with_spread) spreads the first attempts after a stable session, which all clients of a
///   server lose together.
/// - [`spread_start`](Self::spread_start) spreads the first attempts of a fleet that powers up together.
///
/// ```
/// use tidegate::backoff::Backoff;
/// use tidegate::{Instant, Span, firmware::Session};
///
/// let now = Instant::ZERO;
/// let mut session = Session::new(Backoff::DEFAULT, Span::from_secs(60), 7);
/// assert_eq!(session.next_at(), now);
/// session.begin(now);
/// session.end(now); // no connection came about
/// assert!(session.next_at() > now);
/// session.link_up(now);
/// assert_eq!(session.next_at(), now);
/// ```
#[derive(Clone, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Session {
    backoff: Backoff,
    stable: Span,
    spread: Span,
    step: Span,
    next: Instant,
    /// When the session was opened, if it was.
    opened: Option<Instant>,
    /// `link_up` has no effect before this instant.
    link_again: Instant,
    rng: Rng,
}

impl Session {
    /// A session that may be opened at once. `seed` must differ between the clients of a fleet. See
    /// [`rng`](crate::rng) for sources.
    #[must_use]
    pub const fn new(backoff: Backoff, stable: Span, seed: u64) -> Self {
        Self {
            backoff,
            stable,
            spread: Span::ZERO,
            step: Span::ZERO,
            next: Instant::ZERO,
            opened: None,
            link_again: Instant::ZERO,
            rng: Rng::new(seed),
        }
    }

    /// Makes the first attempt after a stable session at a random time within `over`, or later if the backoff is longer.
    /// [`link_up`](Self::link_up) has no effect during that time. Choose it as for
    /// [`spread_start`](Self::spread_start). The default is zero.
    ///
    /// ```
    /// use tidegate::{Span, backoff::Backoff, firmware::Session};
    ///
    /// let [stable, over] = [60, 100].map(Span::from_secs);
    /// let session = Session::new(Backoff::DEFAULT, stable, 7).with_spread(over);
    /// # let _ = session;
    /// ```
    #[must_use]
    pub const fn with_spread(mut self, over: Span) -> Self {
        self.spread = over;
        self
    }

    /// When the next attempt may be made. May be in the past.
    #[must_use]
    pub const fn next_at(&self) -> Instant {
        self.next
    }

    /// Makes no attempt before a random instant within `over` from now. Choose it so that all clients fit into what the
    /// server accepts: 1,000 devices of a broker that accepts 10 connections per second need 100 seconds.
    pub fn spread_start(&mut self, now: Instant, over: Span) {
        let start = now + self.rng.between(Span::ZERO, over);
        self.next = self.next.max(start);
    }

    /// An attempt begins, at [`next_at`](Self::next_at) or later. Another one may begin after a
    /// delay, even without a call of [`end`](Self::end).
    pub fn begin(&mut self, now: Instant) {
        self.opened = None;
        self.step = self.backoff.next_step(self.step, &mut self.rng);
        self.delay(now);
    }

    /// The session is open: the server has accepted it.
    pub const fn open(&mut self, now: Instant) {
        self.opened = Some(now);
    }

    /// The session ended, or the attempt failed.
    pub fn end(&mut self, now: Instant) {
        if let Some(opened) = self.opened.take()
            && now - opened >= self.stable
        {
            self.step = self.backoff.next_step(Span::ZERO, &mut self.rng);
            self.delay(now);
            if self.spread > Span::ZERO {
                self.spread_start(now, self.spread);
                self.link_again = self.link_again.max(now + self.spread);
            }
            return;
        }
        self.delay(now);
    }

    /// The network is back: the next attempt may be made at once. The backoff is not reset.
    pub fn link_up(&mut self, now: Instant) {
        if now >= self.link_again {
            self.link_again = now + self.stable;
            self.next = self.next.min(now);
        }
    }

    /// Length of a record in bytes.
    pub const SNAPSHOT_BYTES: usize = snapshot::length(<Kept as Field>::BYTES);

    /// Writes when the next attempt may be made, and its backoff, to the first
    /// [`SNAPSHOT_BYTES`](Self::SNAPSHOT_BYTES) of `record`, and returns their number. A session that is open counts as
    /// stable: the device closes it, and not the server.
    ///
    /// # Errors
    /// [`SnapshotError::Length`] if `record` is too short.
    pub fn snapshot(&self, now: Instant, record: &mut [u8]) -> Result<usize, SnapshotError> {
        let record = record.get_mut(..Self::SNAPSHOT_BYTES).ok_or(SnapshotError::Length)?;
        let (step, next) = match self.opened {
            Some(_) => (Span::ZERO, now),
            None => (self.step, self.next),
        };
        let kept = Kept { step, next, link_again: self.link_again, rng: self.rng.clone() };
        snapshot::seal(record, now, MARK, |out| kept.write(out));
        Ok(Self::SNAPSHOT_BYTES)
    }

    /// Continues from a record that was written `away` ago, as if there had been no sleep.
    ///
    /// ```
    /// use tidegate::backoff::{Backoff, Growth, Jitter};
    /// use tidegate::{Instant, Span, firmware::Session};
    ///
    /// let [sleep, minute] = [10, 60].map(Span::from_secs);
    /// let backoff = Backoff::new(Growth::Constant, Jitter::None, minute, minute).unwrap();
    /// let mut session = Session::new(backoff, minute, 7);
    /// session.begin(Instant::ZERO);
    /// let mut record = [0; Session::SNAPSHOT_BYTES];
    /// session.snapshot(Instant::ZERO, &mut record).unwrap();
    ///
    /// // The clock starts again after the sleep.
    /// let mut session = Session::new(backoff, minute, 7);
    /// session.restore(&record, Instant::ZERO, sleep).unwrap();
    /// assert_eq!(session.next_at() + sleep, Instant::ZERO + minute);
    /// ```
    ///
    /// # Errors
    /// [`SnapshotError`] if the record is invalid. The session is then unchanged.
    pub fn restore(
        &mut self,
        record: &[u8],
        now: Instant,
        away: Span,
    ) -> Result<(), SnapshotError> {
        let mut input = snapshot::unseal(record, now, away, MARK, Self::SNAPSHOT_BYTES)?;
        let Kept { step, next, link_again, rng } = Kept::read(&mut input);
        *self = Self { step, next, link_again, rng, opened: None, ..*self };
        Ok(())
    }

    fn delay(&mut self, now: Instant) {
        let delay = self.backoff.delay(self.step, &mut self.rng).max(Span::from_nanos(1));
        self.next = now + delay;
    }
}

/// What a record keeps.
struct Kept {
    step: Span,
    next: Instant,
    link_again: Instant,
    rng: Rng,
}

snapshot::fields!(Kept { step: Span, next: Instant, link_again: Instant, rng: Rng });

/// Stands in place of the number of limits, as in the record of a `SleepClock`.
const MARK: usize = 254;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backoff::{Growth, Jitter};
    use crate::fixed::Ratio;
    use proptest::prelude::*;

    const STABLE: Span = Span::from_secs(60);

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Span::from_secs(seconds)
    }

    /// Doubling from one second to five minutes.
    fn session() -> Session {
        let growth = Growth::Exponential(Ratio::of(2, 1));
        let (base, most) = (Span::from_secs(1), Span::from_secs(300));
        Session::new(Backoff::new(growth, Jitter::None, base, most).unwrap(), STABLE, 7)
    }

    /// Sessions that last so long each: when each attempt is made, in seconds.
    fn attempts<const COUNT: usize>(lasts: Span) -> [u64; COUNT] {
        let mut session = session();
        [(); COUNT].map(|()| {
            let now = session.next_at();
            session.begin(now);
            session.open(now);
            session.end(now + lasts);
            now.as_nanos() / 1_000_000_000
        })
    }

    #[test]
    fn a_short_success_does_not_reset_the_backoff_and_a_long_one_does() {
        assert_eq!(attempts(Span::ZERO), [0, 1, 3, 7, 15, 31, 63, 127, 255, 511, 811, 1_111]);
        assert_eq!(attempts(Span::from_secs(10)), [0, 11, 23, 37, 55, 81, 123, 197, 335]);
        assert_eq!(attempts(STABLE), [0, 61, 122, 183, 244]);
    }

    #[test]
    fn a_restored_link_admits_one_attempt_and_a_flapping_one_no_more() {
        let mut session = session();
        for _ in 0..6 {
            let now = session.next_at();
            session.begin(now);
            session.end(now);
        }
        let now = at(40);
        assert!(session.next_at() > now);
        session.link_up(now);
        assert_eq!(session.next_at(), now);
        session.begin(now);
        session.end(now);
        // The delay goes on from where it was.
        assert_eq!(session.next_at(), at(40 + 64));
        for second in 41..100 {
            session.link_up(at(second));
            assert_eq!(session.next_at(), at(104));
        }
        session.link_up(at(100));
        assert_eq!(session.next_at(), at(100));
    }

    #[test]
    fn only_the_first_attempt_after_a_stable_session_is_spread() {
        let over = Span::from_secs(100);
        let mut seed = 0;
        let nexts = [(); 200].map(|()| {
            seed += 1;
            let rng = crate::rng::Rng::new(seed);
            let mut session = Session { rng, ..session() }.with_spread(over);
            session.begin(at(0));
            session.end(at(0)); // refused
            assert_eq!(session.next_at(), at(1));
            session.begin(at(1));
            session.open(at(1));
            session.end(at(2)); // not stable
            assert_eq!(session.next_at(), at(4));
            session.begin(at(4));
            session.open(at(4));
            session.end(at(900));
            let next = session.next_at();
            for second in 900..1_000 {
                session.link_up(at(second));
                assert_eq!(session.next_at(), next);
            }
            session.begin(next);
            session.end(next);
            assert_eq!(session.next_at(), next + Span::from_secs(2));
            next - at(900)
        });
        assert!(nexts.iter().all(|next| (Span::from_secs(1)..=over).contains(next)));
        for quarter in 0..4 {
            let [from, to] = [quarter, quarter + 1].map(|part| Span::from_secs(25 * part));
            let count = nexts.iter().filter(|next| (from..to).contains(next)).count();
            assert!((35..=65).contains(&count), "{count} of 200");
        }
    }

    #[test]
    fn an_attempt_without_a_reported_end_is_followed_by_another() {
        let mut session = session();
        session.begin(at(0));
        assert_eq!(session.next_at(), at(1));
    }

    #[test]
    fn a_device_that_sleeps_during_its_session_connects_at_once() {
        let mut session = session();
        (0..9).for_each(|_| session.begin(at(0)));
        session.open(at(0));
        let mut record = [0; Session::SNAPSHOT_BYTES];
        assert_eq!(session.snapshot(at(1), &mut record[1..]), Err(SnapshotError::Length));
        session.snapshot(at(1), &mut record).unwrap();
        session.end(at(1)); // by the server
        assert_eq!(session.next_at(), at(1 + 256));
        assert_eq!(session.restore(&record[1..], at(0), Span::ZERO), Err(SnapshotError::Length));
        assert_eq!(session.next_at(), at(1 + 256));
        session.restore(&record, at(1), Span::ZERO).unwrap();
        assert_eq!(session.next_at(), at(1));
        session.begin(at(1));
        assert_eq!(session.next_at(), at(2));
    }

    proptest! {
        #[test]
        fn a_fleet_starts_within_the_configured_time(seed: u64, over in 1..100_000u64) {
            let mut session = Session::new(Backoff::DEFAULT, STABLE, seed);
            session.spread_start(at(5), Span::from_secs(over));
            prop_assert!(session.next_at() >= at(5) && session.next_at() <= at(5 + over));
        }

        #[test]
        fn after_any_events_the_next_attempt_follows_within_the_longest_delay_with_sleeps_or_without(
            seed: u64, events in prop::collection::vec((0..5u8, 0..100u64), 1..100),
        ) {
            const SPREAD: Span = Span::from_secs(15);
            // Instants before it exist, because the clock of `sleeper` starts there each time it wakes up.
            const BOOT: u64 = 1 << 32;
            let mut awake = Session::new(Backoff::DEFAULT, STABLE, seed).with_spread(SPREAD);
            let mut sleeper = awake.clone();
            let (mut now, mut clock) = (at(BOOT), at(BOOT));
            for (event, pass) in events {
                now += Span::from_secs(pass);
                clock += Span::from_secs(pass);
                for (session, now) in [(&mut awake, now), (&mut sleeper, clock)] {
                    match event {
                        0 => session.begin(now),
                        1 => session.open(now),
                        2 => session.link_up(now),
                        _ => {
                            session.end(now);
                            prop_assert!(session.next_at() > now);
                        }
                    }
                }
                if event == 4 {
                    let mut record = [0; Session::SNAPSHOT_BYTES];
                    sleeper.snapshot(clock, &mut record).unwrap();
                    sleeper = Session::new(Backoff::DEFAULT, STABLE, 0).with_spread(SPREAD);
                    (now, clock) = (now + Span::from_secs(pass), at(BOOT));
                    sleeper.restore(&record, clock, Span::from_secs(pass)).unwrap();
                }
                prop_assert!(awake.next_at() <= now + Span::from_secs(20));
                prop_assert_eq!(awake.next_at() - now, sleeper.next_at() - clock);
            }
        }
    }
}
