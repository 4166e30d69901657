//! The state of a process that shares budgets: a member for each key, and later attempts of calls,
//! in numbered slots.

use tidegate::queue::{Ahead, Gate};
use tidegate::shared::{CountedMember, Member, MemberStats, Source};
use tidegate::{Call, Decision, Instant, Policy, Reason, Reply, Span};

use crate::common::Requested;
use crate::desk::{Desk, Kept, Kind};
use crate::list::{Own, Pages};
use crate::number::{counters, deadline, millis, quota, span, whole};
use crate::policy::WORDS;

/// How many calls of one member can be in flight.
const PLACES: usize = 128;

pub struct Lessee {
    counted: Own<CountedMember<PLACES, Pages>>,
    /// The most attempts of a call.
    attempts: u16,
}

impl Lessee {
    fn member(&self) -> &Member<PLACES, Pages> {
        self.counted.member()
    }
}

impl Gate for Lessee {
    type Permit = f64;

    fn poll(&mut self, now: Instant, call: &Call) -> Decision<f64> {
        self.counted.poll(now, call).map(|permit| permit as f64)
    }

    fn refund(&mut self, now: Instant, permit: f64) {
        self.counted.refund(now, permit as u64);
    }

    fn ready_at(&self, now: Instant, call: &Call) -> Option<Instant> {
        self.counted.ready_at(now, call)
    }

    fn due_behind(&self, now: Instant, call: &Call, ahead: &[Ahead; 1]) -> Instant {
        self.counted.due_behind(now, call, ahead)
    }

    fn count_rejection(&mut self) {
        self.counted.count_rejection();
    }

    fn is_failing(&self) -> bool {
        self.counted.is_failing()
    }
}

impl Kind<1, [u32; 1]> for Lessee {
    fn call(requested: Requested) -> Call {
        Call::new().deadline(deadline(requested.deadline))
    }

    fn retry(&mut self, now: Instant, call: &Call, reply: Reply) -> Result<Call, Reason> {
        if call.attempt().saturating_add(1) >= self.attempts {
            return Err(Reason::Attempts);
        }
        self.counted.retry(now, call, reply)
    }

    /// Pacing, cooldown, concurrency limit; or 5, a lack of leases.
    fn why(&mut self, now: Instant, call: &Call) -> u32 {
        let member = self.member();
        if member.cooldown_until().max(call.not_before()) > now {
            2
        } else if usize::from(member.in_flight()) >= PLACES {
            3
        } else if member.available_leases() == 0 && !member.is_alone() {
            5
        } else {
            1
        }
    }
}

pub type Leases = Desk<Lessee, 1, [u32; 1]>;

impl Leases {
    fn lessee(&mut self, member: u32) -> Option<&mut Lessee> {
        self.gates.get(member).map(|kept| &mut kept.gate)
    }

    /// Creates a member and returns its slot; -1 if there is no memory, -2 if the quota is invalid.
    /// It uses three parts of the policy's row: the quota of requests, which is the rate while it
    /// knows no share, the expiry of a call's place, and the number of attempts. At most `most`
    /// calls may wait.
    pub fn open(&mut self, row: &[f64; WORDS], number: [u32; 2], now: f64, most: u32) -> i32 {
        let now = self.clock.read(now);
        let &[_, calls, period, burst, _, _, _, _, _, expiry, _, _, _, attempts, ..] = row;
        let Some(alone) = quota(calls, period, burst) else { return -2 };
        let mut member = Member::new(whole(number), alone, now);
        member.set_expiry(span(expiry).unwrap_or(Span::from_secs(300)));
        let Some(counted) = Own::new(CountedMember::new(member)) else { return -1 };
        let lessee = Lessee {
            counted,
            attempts: if attempts.is_nan() { Policy::ATTEMPTS.get() } else { attempts as u16 },
        };
        self.keep(lessee, most)
    }

    /// Settles a call with the current reply. An unknown permit is harmless.
    pub fn settle(&mut self, member: u32, permit: f64, now: f64) {
        let now = self.clock.read(now);
        let Some(kept) = self.gates.get(member) else { return };
        // A number that is not a permit must match no call: a negative one and NaN would become 0.
        let raw = if permit >= 0.0 { permit as u64 } else { u64::MAX };
        kept.change(|lessee| lessee.counted.settle(now, raw, self.draft.reply));
    }

    /// When a request is due, in milliseconds; NaN if none is due until a call joins or settles.
    pub fn request_at(&mut self, member: u32) -> f64 {
        let due = self.lessee(member).and_then(|lessee| lessee.member().request_at());
        due.map_or(f64::NAN, |due| millis(due - Instant::ZERO))
    }

    /// Writes a request, if one is due while this many calls wait, and returns its length: 0 if
    /// none is due, -1 if the previous one was given up instead.
    pub fn request(&mut self, member: u32, waiting: u32, now: f64, room: &mut [u8]) -> i32 {
        let now = self.clock.read(now);
        let Some(Kept { gate: lessee, line }) = self.gates.get(member) else { return 0 };
        if lessee.member().request_at().is_none_or(|at| at > now) {
            return 0;
        }
        let waiting = u16::try_from(waiting).unwrap_or(u16::MAX);
        let length = lessee.counted.request(now, waiting, room);
        let Some(length) = length else {
            line.changed();
            return -1;
        };
        i32::try_from(length).unwrap_or(-1)
    }

    /// Writes the last request of a member that is about to be closed, and returns its length; 0 if
    /// there is nothing to report.
    pub fn leave(&mut self, member: u32, now: f64, room: &mut [u8]) -> usize {
        let now = self.clock.read(now);
        let lessee = self.lessee(member);
        lessee.and_then(|lessee| lessee.counted.leave(now, room)).unwrap_or(0)
    }

    /// Reads an answer while `waiting` calls wait; false if it is invalid.
    pub fn hear(&mut self, member: u32, grant: &[u8], waiting: u32, now: f64) -> bool {
        let now = self.clock.read(now);
        let Some(kept) = self.gates.get(member) else { return false };
        let waiting = u16::try_from(waiting).unwrap_or(u16::MAX);
        kept.change(|lessee| lessee.counted.hear(now, grant, waiting).is_ok())
    }

    /// The pending request will not be answered.
    pub fn miss(&mut self, member: u32, now: f64) {
        let now = self.clock.read(now);
        if let Some(kept) = self.gates.get(member) {
            kept.change(|lessee| lessee.counted.miss(now));
        }
    }

    /// The time between two calls of the whole fleet; 0 if there is none or it is unknown.
    pub fn interval(&mut self, member: u32) -> f64 {
        let fleet = self.lessee(member).and_then(|lessee| lessee.member().fleet());
        fleet.and_then(|(_, interval)| interval).map_or(0.0, millis)
    }

    /// The counters, in TypeScript's order.
    pub fn stats(&mut self, member: u32) -> Option<[f64; COUNTERS]> {
        let lessee = self.lessee(member)?;
        let MemberStats { calls: s, alone, delayed, asked, missed, .. } = *lessee.counted.stats();
        Some(counters(&[
            s.admitted,
            s.waits,
            s.full,
            s.rejected,
            s.ok,
            s.throttled,
            s.busy,
            s.failed,
            s.abandoned,
            s.retries,
            0,
            0,
            u32::from(lessee.member().in_flight()),
            alone,
            delayed,
            asked,
            missed,
            lessee.member().fleet().map_or(0, |(fleet, _)| u32::from(fleet)),
        ]))
    }

    pub fn available_leases(&mut self, member: u32) -> usize {
        self.lessee(member).map_or(0, |lessee| lessee.member().available_leases())
    }

    /// Number of calls that were first in the queue and found no lease.
    pub fn without(&mut self, member: u32) -> u32 {
        self.lessee(member).map_or(0, |lessee| lessee.counted.stats().without)
    }

    /// Whether a member currently works without its coordinator.
    pub fn is_alone(&mut self, member: u32) -> bool {
        self.lessee(member).is_some_and(|lessee| lessee.member().is_alone())
    }
}

/// Number of counters: those of a controller, and five for the fleet.
pub const COUNTERS: usize = 18;

#[cfg(test)]
mod tests {
    use tidegate::queue::Place;

    use super::*;
    use crate::budget::{Budgets, Past};

    /// Ten calls a second, at most two attempts.
    fn ten() -> [f64; WORDS] {
        let mut row = [f64::NAN; WORDS];
        row[..4].copy_from_slice(&[1.0, 10.0, 1_000.0, f64::NAN]);
        row[4] = 1.0;
        row[13] = 2.0;
        row
    }

    const PLAIN: Requested = Requested::PLAIN;
    const ONE: [f64; 2] = PLAIN.costs;

    fn pair() -> (Leases, Budgets) {
        let (mut leases, mut budgets) = (Leases::new(), Budgets::new());
        assert_eq!(leases.open(&ten(), [0, 7], 0.0, 9), 0);
        let past = Past { record: &[], away: f64::NAN, ended: false };
        assert_eq!(budgets.open(&ten(), [0, 7], 0.0, f64::NAN, past), 0);
        (leases, budgets)
    }

    #[test]
    fn lost_calls_free_their_places() {
        let (mut leases, _) = pair();
        let mut row = ten();
        (row[1], row[9]) = (1_000.0, 30_000.0);
        assert_eq!(leases.open(&row, [0, 8], 0.0, 9), 1);
        let mut room = [0; 4_096];
        let mut admitted = |from: f64| {
            let times = (0..400_u32).map(|step| from + f64::from(step) * 10.0);
            times
                .filter(|now| {
                    if leases.request_at(1) <= *now {
                        leases.request(1, 1, *now, &mut room);
                    }
                    leases.poll(1, *now, ONE) >= 0.0
                })
                .count()
        };
        assert_eq!(admitted(0.0), PLACES);
        assert_eq!(admitted(5_000.0), 0, "all places are taken");
        assert_eq!(admitted(40_000.0), PLACES);
    }

    #[test]
    fn invalid_numbers_and_bytes_are_harmless() {
        let (mut leases, mut budgets) = pair();
        assert!(leases.join(9, PLAIN, Place::new(0, 1), 0.0).is_nan());
        leases.settle(9, 0.0, 0.0);
        assert_eq!(leases.told.reason(), 0);
        for permit in [f64::NAN, -1.0, 1e300, 77.0] {
            leases.settle(0, permit, 0.0);
        }
        assert_eq!(leases.stats(0).unwrap()[4], 0.0);
        assert!(!leases.hear(0, &[1, 2, 3], 0, 0.0));
        assert_eq!(budgets.answer(0, &[1, 2, 3], &mut [0; 4_096], 0.0), -1);
        let mut row = ten();
        row[1] = 0.0;
        assert_eq!(leases.open(&row, [0, 7], 0.0, 9), -2);
    }
}
