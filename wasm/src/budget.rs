//! The budgets of fleets: a coordinator for each, with any law.

use tidegate::law::AnyLaw;
use tidegate::shared::{Coordinator, Leases};
use tidegate::{Controller, Instant, Span};

use crate::arena::Arena;
use crate::list::List;
use crate::number::{Clock, counters, millis, span, whole};
use crate::policy::{WORDS, expiry, policy};

/// Number of calls of all members that can be leased or in flight: 1.5 seconds at 2000 calls per
/// second.
pub const PLACES: usize = 4_096;

/// A coordinator with room for this many calls and members.
type Sized<const PLACES: usize, const MEMBERS: usize> =
    Coordinator<Leases<AnyLaw, PLACES>, MEMBERS>;
type Small = Sized<128, 24>;
type Large = Sized<PLACES, 1_024>;

/// A budget: small until it needs more room. So thousands of them, of which few are busy, take little memory.
struct Budget {
    /// Each has at most one coordinator, and one of them has it.
    small: List<Small>,
    large: List<Large>,
}

// The size of a block of memory.
#[cfg(target_arch = "wasm32")]
const _: () = assert!(size_of::<Small>() <= 8_192);

/// Runs the same code for a budget of either size; `None` if there is no budget.
macro_rules! each {
    ($budget:expr, $it:ident => $then:expr) => {
        $budget.and_then(|Budget { small, large }| match large.first_mut() {
            Some($it) => Some($then),
            None => small.first_mut().map(|$it| $then),
        })
    };
}

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
    all: Arena<Budget>,
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
            away.map(|away| Small::restore(policy, seed, past.record, now, away, past.ended));
        let resumed = resumed.and_then(Result::ok);
        let is_resumed = resumed.is_some();
        let it = resumed.unwrap_or_else(|| {
            let new = Coordinator::new(Leases::new(Controller::new(policy, seed, now)), now);
            match away {
                Some(away) => {
                    new.in_place_of_another(now, if past.ended { away } else { Span::ZERO })
                }
                None => new,
            }
        });
        let mut budget = Budget { small: List::new(), large: List::new() };
        let opened = budget.small.push(configured(it, row, heartbeat));
        let slot = opened.and_then(|()| self.all.insert(budget));
        slot.map_or(-2, |slot| slot as i32 * 2 + i32::from(is_resumed))
    }

    pub fn close(&mut self, budget: u32) {
        self.all.remove(budget);
    }

    /// Sets another policy. False if the policy is invalid or there is no budget.
    pub fn follow(&mut self, budget: u32, row: &[f64; WORDS], now: f64, heartbeat: f64) -> bool {
        let now = self.clock.read(now);
        let Some((policy, ..)) = policy(row, PLACES as u16) else { return false };
        let Some(Budget { small, large }) = self.all.get(budget) else { return false };
        // The blocks keep room for them.
        if let Some(mut it) = small.pop() {
            it.source_mut().controller_mut().set_policy(policy, now);
            let _ = small.push(configured(it, row, heartbeat));
        }
        if let Some(mut it) = large.pop() {
            it.source_mut().controller_mut().set_policy(policy, now);
            let _ = large.push(configured(it, row, heartbeat));
        }
        true
    }

    /// Answers a request, and returns the grant's length: 0 if there is nothing to send, -1 if the
    /// request is invalid.
    pub fn answer(&mut self, budget: u32, request: &[u8], grant: &mut [u8], now: f64) -> i32 {
        let now = self.clock.read(now);
        let budget = self.all.get(budget).map(grown);
        let length = each!(budget, it => it.answer(now, request, grant).ok());
        length.flatten().and_then(|length| i32::try_from(length).ok()).unwrap_or(-1)
    }

    pub fn ended(&mut self, budget: u32, request: &[u8], now: f64) {
        let now = self.clock.read(now);
        // An invalid request has no sender.
        let _ = each!(self.all.get(budget), it => it.ended(now, request));
    }

    /// Writes a record and returns its length; 0 if there is nothing to record.
    pub fn snapshot(&mut self, budget: u32, now: f64, record: &mut [u8]) -> usize {
        let now = self.clock.read(now);
        each!(self.all.get(budget), it => it.snapshot(now, record).unwrap_or(0)).unwrap_or(0)
    }

    pub fn unkept(&mut self, budget: u32) {
        let _ = each!(self.all.get(budget), it => it.snapshot_was_lost());
    }

    /// The counters, in TypeScript's order.
    pub fn stats(&mut self, budget: u32, now: f64) -> [f64; COUNTERS] {
        let now = self.clock.read(now);
        let told = each!(self.all.get(budget), it => told(it, now));
        told.unwrap_or([0.0; COUNTERS])
    }
}

/// The budget, with room for the next request. If there is no memory, it leases less and knows fewer members.
fn grown(budget: &mut Budget) -> &mut Budget {
    let Budget { small, large } = budget;
    if small.first().is_some_and(Small::is_crowded)
        && large.reserve().is_some()
        && let Some(it) = small.pop()
    {
        let _ = large.push(it.grown());
        *small = List::new();
    }
    budget
}

fn configured<const PLACES: usize, const MEMBERS: usize>(
    mut it: Sized<PLACES, MEMBERS>,
    row: &[f64; WORDS],
    heartbeat: f64,
) -> Sized<PLACES, MEMBERS> {
    it.source_mut().set_expiry(expiry(row));
    match span(heartbeat) {
        Some(heartbeat) => it.heartbeat(heartbeat),
        None => it,
    }
}

fn told<const PLACES: usize, const MEMBERS: usize>(
    it: &Sized<PLACES, MEMBERS>,
    now: Instant,
) -> [f64; COUNTERS] {
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

pub const RECORD: usize = Small::SNAPSHOT_BYTES;
