//! The budgets of fleets: a coordinator for each, with any law.

use tidegate::law::AnyLaw;
use tidegate::shared::{Coordinator, Leases};
use tidegate::{Controller, Instant, Span};

use crate::arena::Arena;
use crate::list::{Own, Pages};
use crate::number::{Clock, counters, millis, span, whole};
use crate::policy::{WORDS, expiry, policy};

/// Number of calls of all members that can be leased or in flight: 1.5 seconds at 2000 calls per
/// second.
pub const PLACES: usize = 4_096;

type Budget = Coordinator<Leases<AnyLaw, PLACES, Pages>, 1_024, Pages>;

// The size of a block of memory.
#[cfg(target_arch = "wasm32")]
const _: () = assert!(size_of::<Budget>() <= 1_024);

/// The state of a budget from before.
#[derive(Clone, Copy)]
pub struct Past<'a> {
    /// The last record, made `away` milliseconds ago; NaN if nobody held the budget.
    pub record: &'a [u8],
    /// See [`record`](Self::record).
    pub away: f64,
    /// Whether nothing was leased since.
    pub ended: bool,
}

pub struct Budgets {
    all: Arena<Own<Budget>>,
    clock: Clock,
}

impl Budgets {
    pub const fn new() -> Self {
        Self { all: Arena::new(), clock: Clock::NEW }
    }

    /// Opens a budget. If somebody held it, it continues from the record: at once if that process `ended` with it, else
    /// after everything that may have been leased since. If the record does not fit the policy, it starts after everything
    /// that may still be leased.
    ///
    /// Returns twice the budget's slot, plus one if it continues from the record; -1 if the policy is invalid, and -2 if
    /// there is no memory. NaN stands for the default heartbeat.
    pub fn open(
        &mut self,
        row: &[f64; WORDS],
        seed: [u32; 2],
        now: f64,
        heartbeat: f64,
        past: Past<'_>,
    ) -> i32 {
        let now = self.clock.read(now);
        let Some((policy, ..)) = policy(row, PLACES as u16) else { return -1 };
        let (seed, away) = (whole(seed), span(past.away));
        let resumed =
            away.map(|away| Budget::restore(policy, seed, past.record, now, away, past.ended));
        let resumed = resumed.and_then(Result::ok);
        let is_resumed = resumed.is_some();
        let budget = resumed.unwrap_or_else(|| {
            let new = Budget::new(Leases::new(Controller::new(policy, seed, now)), now);
            match away {
                Some(away) => {
                    new.in_place_of_another(now, if past.ended { away } else { Span::ZERO })
                }
                None => new,
            }
        });
        let slot = Own::new(budget).and_then(|mut budget| {
            configure(&mut budget, row, heartbeat);
            self.all.insert(budget)
        });
        slot.map_or(-2, |slot| slot as i32 * 2 + i32::from(is_resumed))
    }

    pub fn close(&mut self, budget: u32) {
        self.all.remove(budget);
    }

    /// Sets another policy. False if the policy is invalid or there is no budget.
    pub fn follow(&mut self, budget: u32, row: &[f64; WORDS], now: f64, heartbeat: f64) -> bool {
        let now = self.clock.read(now);
        let Some((policy, ..)) = policy(row, PLACES as u16) else { return false };
        let Some(budget) = self.all.get(budget) else { return false };
        budget.source_mut().controller_mut().set_policy(policy, now);
        configure(budget, row, heartbeat);
        true
    }

    /// Answers a request, and returns the grant's length: 0 if there is nothing to send, -1 if the
    /// request is invalid.
    pub fn answer(&mut self, budget: u32, request: &[u8], grant: &mut [u8], now: f64) -> i32 {
        let now = self.clock.read(now);
        let length = self.all.get(budget).and_then(|it| it.answer(now, request, grant).ok());
        length.and_then(|length| i32::try_from(length).ok()).unwrap_or(-1)
    }

    pub fn ended(&mut self, budget: u32, request: &[u8], now: f64) {
        let now = self.clock.read(now);
        // An invalid request has no sender.
        let _ = self.all.get(budget).map(|it| it.ended(now, request));
    }

    /// Writes a record and returns its length; 0 if there is nothing to record.
    pub fn snapshot(&mut self, budget: u32, now: f64, record: &mut [u8]) -> usize {
        let now = self.clock.read(now);
        let length = self.all.get(budget).and_then(|it| it.snapshot(now, record).ok());
        length.unwrap_or(0)
    }

    pub fn unkept(&mut self, budget: u32) {
        if let Some(it) = self.all.get(budget) {
            it.snapshot_was_lost();
        }
    }

    /// The counters, in TypeScript's order.
    pub fn stats(&mut self, budget: u32, now: f64) -> [f64; COUNTERS] {
        let now = self.clock.read(now);
        self.all.get(budget).map_or([0.0; COUNTERS], |it| told(it, now))
    }
}

fn configure(it: &mut Budget, row: &[f64; WORDS], heartbeat: f64) {
    it.source_mut().set_expiry(expiry(row));
    if let Some(heartbeat) = span(heartbeat) {
        it.set_heartbeat(heartbeat);
    }
}

fn told(it: &Budget, now: Instant) -> [f64; COUNTERS] {
    let source = it.source().controller();
    let s = source.stats();
    let mut told = counters(&[
        s.admitted,
        s.ok,
        s.throttled,
        s.busy,
        s.failed,
        s.abandoned,
        s.slower,
        s.faster,
        u32::from(source.in_flight()),
        u32::from(it.members()),
    ]);
    if let Some(last) = told.last_mut() {
        *last = source.intervals(now).next().flatten().map_or(0.0, millis);
    }
    told
}

/// Number of counters. The last is the time between two calls, 0 if there is none.
pub const COUNTERS: usize = 11;

pub const RECORD: usize = Budget::SNAPSHOT_BYTES;
