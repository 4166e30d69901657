//! The budget of a fleet: the coordinator, with any law. A module has at most one.

use tidegate::law::AnyLaw;
use tidegate::shared::{Coordinator, Leases};
use tidegate::{Controller, Instant, Policy, Span};

use crate::number::{Clock, millis, span, whole};
use crate::policy::{WORDS, expiry, policy};

/// Number of calls of all members that can be leased or in flight: 1.5 seconds at 2000 calls per
/// second.
pub const PLACES: usize = 4_096;

/// Number of members that it knows by name.
const MEMBERS: usize = 1_024;

type Law = Policy<AnyLaw>;
type Shared = Coordinator<Leases<AnyLaw, PLACES>, MEMBERS>;

/// The state of the budget from before.
#[derive(Clone, Copy)]
pub struct Past<'a> {
    /// The last record, made `away` milliseconds ago.
    pub record: &'a [u8],
    /// See [`record`](Self::record).
    pub away: f64,
    /// Whether nothing was leased since.
    pub ended: bool,
}

pub struct Budget {
    coordinator: Option<Shared>,
    clock: Clock,
}

impl Budget {
    pub const fn new() -> Self {
        Self { coordinator: None, clock: Clock::NEW }
    }

    /// Starts; false if the policy is invalid. NaN stands for the default heartbeat.
    pub fn open(&mut self, row: &[f64; WORDS], seed: [u32; 2], now: f64, heartbeat: f64) -> bool {
        let now = self.clock.read(now);
        let Some((policy, ..)) = policy(row, PLACES as u16) else { return false };
        self.begin(policy, seed, now);
        self.configure(row, heartbeat);
        true
    }

    /// Like `open`, but continues from a record that was made `away` milliseconds ago, and returns
    /// 1: at once if the process `ended` with that record, else after everything that may have been
    /// leased since. If the record is missing or does not fit the policy, starts anew after
    /// everything that may still be leased, and returns 2. Returns 0 if the policy is invalid.
    pub fn restore(
        &mut self,
        row: &[f64; WORDS],
        seed: [u32; 2],
        now: f64,
        heartbeat: f64,
        past: Past<'_>,
    ) -> i32 {
        let now = self.clock.read(now);
        let Some((policy, ..)) = policy(row, PLACES as u16) else { return 0 };
        let away = span(past.away).unwrap_or(Span::ZERO);
        // Each step has its own stack frame: a coordinator has 200 kB.
        self.resume(policy, seed, now, past, away);
        let resumed = self.coordinator.is_some();
        if !resumed {
            self.begin(policy, seed, now);
        }
        self.configure(row, heartbeat);
        if !resumed {
            self.displace(now, if past.ended { away } else { Span::ZERO });
        }
        if resumed { 1 } else { 2 }
    }

    #[inline(never)]
    fn resume(&mut self, policy: Law, seed: [u32; 2], now: Instant, past: Past<'_>, away: Span) {
        let Past { record, ended, .. } = past;
        self.coordinator = Shared::restore(policy, whole(seed), record, now, away, ended).ok();
    }

    #[inline(never)]
    fn begin(&mut self, policy: Law, seed: [u32; 2], now: Instant) {
        let controller = Controller::new(policy, whole(seed), now);
        self.coordinator = Some(Coordinator::new(Leases::new(controller), now));
    }

    #[inline(never)]
    fn configure(&mut self, row: &[f64; WORDS], heartbeat: f64) {
        let mut made = self.coordinator.take();
        if let Some(made) = &mut made {
            made.source_mut().set_expiry(expiry(row));
        }
        self.coordinator = match span(heartbeat) {
            Some(heartbeat) => made.map(|made| made.heartbeat(heartbeat)),
            None => made,
        };
    }

    #[inline(never)]
    fn displace(&mut self, now: Instant, away: Span) {
        let made = self.coordinator.take();
        self.coordinator = made.map(|made| made.in_place_of_another(now, away));
    }

    /// Sets another policy. False if the policy is invalid or there is no budget.
    pub fn follow(&mut self, row: &[f64; WORDS], now: f64, heartbeat: f64) -> bool {
        let now = self.clock.read(now);
        let Some((policy, ..)) = policy(row, PLACES as u16) else { return false };
        let Some(coordinator) = &mut self.coordinator else { return false };
        coordinator.source_mut().controller_mut().set_policy(policy, now);
        self.configure(row, heartbeat);
        true
    }

    /// Answers a request, and returns the grant's length: 0 if there is nothing to send, -1 if the
    /// request is invalid.
    pub fn answer(&mut self, request: &[u8], grant: &mut [u8], now: f64) -> i32 {
        let now = self.clock.read(now);
        let Some(coordinator) = &mut self.coordinator else { return -1 };
        let length = coordinator.answer(now, request, grant).ok();
        length.and_then(|length| i32::try_from(length).ok()).unwrap_or(-1)
    }

    /// The sender of this request has ended.
    pub fn ended(&mut self, request: &[u8], now: f64) {
        let now = self.clock.read(now);
        if let Some(coordinator) = &mut self.coordinator {
            let _ = coordinator.ended(now, request); // an invalid request has no sender
        }
    }

    /// Writes a record and returns its length; 0 if there is nothing to record.
    pub fn snapshot(&mut self, now: f64, record: &mut [u8]) -> usize {
        let now = self.clock.read(now);
        let coordinator = self.coordinator.as_mut();
        coordinator.and_then(|it| it.snapshot(now, record).ok()).unwrap_or(0)
    }

    /// The last record was not stored.
    pub fn unkept(&mut self) {
        if let Some(coordinator) = &mut self.coordinator {
            coordinator.snapshot_was_lost();
        }
    }

    /// The counters, in TypeScript's order.
    pub fn stats(&mut self, now: f64) -> [f64; COUNTERS] {
        let now = self.clock.read(now);
        let Some(coordinator) = &self.coordinator else { return [0.0; COUNTERS] };
        let source = coordinator.source().controller();
        let s = source.stats();
        let interval = source.intervals(now).next().flatten();
        let counts = [
            s.admitted,
            s.ok,
            s.throttled,
            s.busy,
            s.failed,
            s.abandoned,
            s.slower,
            s.faster,
            u32::from(source.in_flight()),
            u32::from(coordinator.members()),
        ];
        let mut told = [0.0; COUNTERS];
        for (told, count) in told.iter_mut().zip(counts) {
            *told = f64::from(count);
        }
        if let Some(last) = told.last_mut() {
            *last = interval.map_or(0.0, millis);
        }
        told
    }
}

/// Number of counters. The last is the time between two calls, 0 if there is none.
pub const COUNTERS: usize = 11;

pub const RECORD: usize = Shared::SNAPSHOT_BYTES;

#[cfg(test)]
mod tests {
    use super::*;

    /// An unoptimised build copies a coordinator more often than the stack of a test allows.
    fn with_room(test: fn()) {
        let thread = std::thread::Builder::new().stack_size(1 << 24).spawn(test);
        thread.unwrap().join().unwrap();
    }

    fn row(law: f64, calls: f64) -> [f64; WORDS] {
        let mut row = [f64::NAN; WORDS];
        row[..4].copy_from_slice(&[law, calls, 1_000.0, f64::NAN]);
        row[4] = law;
        row
    }

    #[test]
    fn a_budget_continues_from_its_record_only_with_the_same_law() {
        with_room(|| {
            let mut budget = Budget::new();
            assert!(budget.open(&row(1.0, 50.0), [0, 7], 0.0, f64::NAN));
            let mut record = [0; RECORD];
            assert_eq!(budget.snapshot(10.0, &mut record), RECORD);
            let mut again = Budget::new();
            let mut from = |law: f64, record: &[u8]| {
                let past = Past { record, away: 500.0, ended: false };
                again.restore(&row(law, 50.0), [0, 8], 0.0, f64::NAN, past)
            };
            assert_eq!([from(1.0, &record), from(0.0, &record), from(99.0, &record)], [1, 2, 0]);
            assert_eq!(from(1.0, &record[1..]), 2);
            assert_eq!(again.stats(0.0)[10], 20.0);
        });
    }

    #[test]
    fn a_budget_follows_another_policy_if_there_is_one() {
        with_room(|| {
            let mut budget = Budget::new();
            assert!(!budget.follow(&row(1.0, 50.0), 0.0, f64::NAN), "nothing is shared yet");
            assert!(budget.open(&row(1.0, 50.0), [0, 7], 0.0, f64::NAN));
            assert!(budget.follow(&row(1.0, 100.0), 0.0, 250.0));
            assert!(!budget.follow(&row(99.0, 100.0), 0.0, f64::NAN));
            assert_eq!(budget.stats(0.0)[10], 10.0, "the previous policy is unchanged");
        });
    }
}
