//! Restarts: a restored controller continues on this clock or another.

use tidegate::{Call, Controller, Instant, Reason, Span, Verdict};

use crate::account::Account;
use crate::world::{Kept, World};

/// Below this instant, everything that a controller remembers fits into its clock.
const EARLY: Instant = Instant::from_nanos(u64::MAX / 4);

pub fn record_of<const LIMITS: usize>(gate: &Kept<LIMITS>, now: Instant) -> Vec<u8> {
    let mut record = vec![0xAA; Kept::<LIMITS>::SNAPSHOT_BYTES];
    assert_eq!(gate.snapshot(now, &mut record), Ok(record.len()));
    record
}

/// How long a plain call waits, if the end fits into every early clock.
fn wait<const LIMITS: usize>(gate: &Kept<LIMITS>, now: Instant) -> Option<Span> {
    let Verdict::Wait(until) = gate.check(now, &Call::new()) else { return None };
    Some(until - now).filter(|wait| wait.as_nanos() < EARLY.as_nanos())
}

impl<const LIMITS: usize> World<LIMITS> {
    /// Sleeps for a measured time. The clock may have advanced more.
    pub fn sleep(&mut self, ahead: Span, away: Span) {
        let there = self.now + ahead + away;
        let record = record_of(&self.gate, self.now);
        let again = self.restored(&record, there, away);
        // On the same clock nothing changes, and later decisions must agree. (Instants more than
        // 292 years away are clamped in a record.)
        let same = self.restored(&record, self.now, Span::ZERO);
        assert_eq!(record_of(&same, self.now), record);
        self.says_what_would_have_been_said(&same);
        if self.latest.max(there) < EARLY {
            let past = self.now + away;
            assert_eq!(record_of(&again, there), record_of(&same, past));
            // A wait beyond the largest instant is rejected instead.
            let told = (again.check(there, &Call::new()), same.check(past, &Call::new()));
            if !matches!(told, (Verdict::Reject(_), _) | (_, Verdict::Reject(_))) {
                assert_eq!(wait(&again, there), wait(&same, past));
            }
        }
        self.wake(again, there, away);
    }

    /// Continues immediately, on a clock with any reading.
    pub fn wake_on_another_clock(&mut self, there: Instant) {
        let record = record_of(&self.gate, self.now);
        let again = self.restored(&record, there, Span::ZERO);
        let same = self.restored(&record, self.now, Span::ZERO);
        // If the clock is behind, the second in which one law has yet to halve may not have ended.
        let told = self.latest.max(there) < EARLY && !self.halves_where_a_second_ends();
        if let (true, Some(before)) = (told, wait(&same, self.now)) {
            match again.check(there, &Call::new()) {
                Verdict::Admit => {
                    panic!("{before:?} remained to wait, but the call is admitted at once")
                }
                Verdict::Wait(until) => assert!(until - there >= before),
                // The wait would end after the largest instant.
                Verdict::Full | Verdict::Reject(_) => {}
            }
        }
        self.wake(again, there, Span::ZERO);
    }

    fn restored(&self, record: &[u8], there: Instant, away: Span) -> Kept<LIMITS> {
        match Controller::restore(self.terms.policy, (1 << 40) + self.restarts, record, there, away)
        {
            Ok(again) => again,
            Err(error) => panic!("its own record is rejected: {error}"),
        }
    }

    /// Compares decisions, except when the concurrency limit was full of calls that are now
    /// unknown.
    fn says_what_would_have_been_said(&self, again: &Kept<LIMITS>) {
        if self.latest >= EARLY || self.halves_where_a_second_ends() {
            return;
        }
        for later in [0, 1, 1_000_000_000, 3_600_000_000_000] {
            let then = self.now + Span::from_nanos(later);
            let (said, says) =
                (self.gate.check(then, &Call::new()), again.check(then, &Call::new()));
            // Instants past the end of early clocks are clamped in a record.
            let is_far = |verdict| matches!(verdict, Verdict::Wait(until) if until >= EARLY);
            let never = said == Verdict::Reject(Reason::Never) && is_far(says);
            let same = said == says || said == Verdict::Full || is_far(said) || never;
            assert!(same, "{later} ns later: {says:?}, not {said:?}");
        }
    }

    fn wake(&mut self, again: Kept<LIMITS>, there: Instant, away: Span) {
        assert_eq!(again.in_flight(), 0);
        let left = self.cooldown - self.now;
        let then = Instant::from_nanos(there.as_nanos().saturating_sub(away.as_nanos()));
        // The largest instant is kept.
        if self.cooldown < Instant::MAX {
            self.cooldown = then + left;
        }
        for account in &mut self.accounts {
            account.wake(self.now, there, away);
            // Distant instants are clamped in a record.
            if self.latest.max(there) >= EARLY {
                *account = Account::new();
            }
        }
        self.gate = again;
        self.restarts += 1;
        self.latest = there;
        self.now = there;
        self.flying.clear();
        // Waits were planned on the previous clock.
        self.waiting.clear();
        self.told = there;
    }
}
