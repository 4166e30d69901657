//! The budgets that one process holds: a coordinator for each key, and its file.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use tidegate::law::AnyLaw;
use tidegate::shared::{Coordinator, GRANT_BYTES, Leases};
use tidegate::{Controller, Instant, Policy, Span};

use super::LocalError;
use super::place::Place;
use super::record::RecordFile;
use crate::timer::{Timer, Tokio, duration, span};

/// How many calls of all members can be leased and in flight, and how many members are known by name: those of
/// one machine.
pub(super) const LEASES: u16 = 2_048;
const MEMBERS: usize = 256;

type Desk = Coordinator<Leases<AnyLaw, { LEASES as usize }>, MEMBERS>;

/// One is forgotten where nobody has asked for so long: its file has all of it.
const IDLE: Duration = Duration::from_secs(60);

/// A process holds so many at most: each takes a tenth of a megabyte, and in Node one.
const MOST: usize = 256;

/// What budgets are made with.
#[derive(Clone, Debug)]
pub(super) struct Terms {
    pub(super) place: Arc<Place>,
    pub(super) policy: Policy<AnyLaw>,
    pub(super) heartbeat: Duration,
}

/// What a budget of this process has counted.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct LocalBudget {
    /// The counters of its law.
    pub counts: tidegate::Stats,
    /// How many members share it.
    pub members: u16,
    /// The time between two calls of all members; `None` if nothing is kept apart.
    pub interval: Option<Duration>,
    /// Why what has been learned could not be written down when that was tried last. Calls are leased all the same.
    pub unstored: Option<String>,
}

struct Budget {
    desk: Box<Desk>,
    file: RecordFile,
    asked: Instant,
    unstored: Option<String>,
}

/// See the module.
pub(super) struct Budgets {
    terms: Terms,
    clock: Tokio,
    /// Whether nobody held them before: else there may be leases where there is no file.
    first: bool,
    budgets: HashMap<Box<[u8]>, Budget>,
}

/// The clock of budgets begins so late: what a record says was before the process began, and has its instants too.
const PAST: Span = Span::from_secs(1 << 30);

impl Budgets {
    pub(super) fn new(terms: Terms, first: bool) -> Self {
        Self { terms, clock: Tokio::default(), first, budgets: HashMap::new() }
    }

    /// Answers a request of a key; what was granted is written down by then. No bytes where there is nothing
    /// to send.
    pub(super) fn answer(&mut self, key: &[u8], request: &[u8]) -> Result<Vec<u8>, LocalError> {
        let now = self.now();
        if !self.budgets.contains_key(key) {
            self.open(key, now)?;
        }
        let Some(budget) = self.budgets.get_mut(key) else { return Ok(Vec::new()) };
        budget.asked = now;
        let mut grant = vec![0; GRANT_BYTES];
        let length = budget.desk.answer(now, request, &mut grant).map_err(|_| {
            LocalError::new(format!(
                "{} bytes have come that are no request: they are damaged, or of another version of tidegate \
                 than here",
                request.len()
            ))
        })?;
        grant.truncate(length);
        if length > 0 {
            budget.keep(now);
        }
        Ok(grant)
    }

    pub(super) fn stats(&self, key: &[u8]) -> Option<LocalBudget> {
        let Budget { desk, unstored, .. } = self.budgets.get(key)?;
        let control = desk.source().controller();
        Some(LocalBudget {
            counts: *control.stats(),
            members: desk.members(),
            interval: control.intervals(self.now()).next().flatten().map(duration),
            unstored: unstored.clone(),
        })
    }

    fn now(&self) -> Instant {
        self.clock.now().saturating_add(PAST)
    }

    /// Whether what was granted is written down, so that another process can go on at once.
    pub(super) fn is_kept(&self) -> bool {
        self.budgets.values().all(|budget| budget.unstored.is_none())
    }

    fn open(&mut self, key: &[u8], now: Instant) -> Result<(), LocalError> {
        let idle = span(IDLE.max(self.terms.heartbeat.saturating_mul(4)));
        let is_used = |budget: &Budget| now.saturating_since(budget.asked) <= idle;
        self.budgets.retain(|_, budget| is_used(budget) || budget.unstored.is_some());
        if self.budgets.len() >= MOST {
            return Err(LocalError::new(format!(
                "one process holds {MOST} budgets at most: give fewer calls keys of their own, or choose another \
                 name for some"
            )));
        }
        let file = RecordFile::new(&self.terms.place, key);
        let past = file.read();
        let desk = match past {
            Some(past) => self.resumed(&past.record, span(past.away), now),
            None if self.first => self.fresh(now),
            None => boxed(self.fresh(now).in_place_of_another(now, Span::ZERO)),
        };
        let desk = Box::new(desk.heartbeat(span(self.terms.heartbeat)));
        self.budgets.insert(key.into(), Budget { desk, file, asked: now, unstored: None });
        Ok(())
    }

    /// Each step on a stack of its own: a coordinator is a tenth of a megabyte.
    #[inline(never)]
    fn fresh(&self, now: Instant) -> Box<Desk> {
        let control = Controller::new(self.terms.policy, random(), now);
        Box::new(Coordinator::new(Leases::new(control), now))
    }

    /// Goes on from a record that nothing was granted after.
    #[inline(never)]
    fn resumed(&self, record: &[u8], away: Span, now: Instant) -> Box<Desk> {
        match Desk::restore(self.terms.policy, random(), record, now, away, true) {
            Ok(desk) => Box::new(desk),
            Err(_) => boxed(self.fresh(now).in_place_of_another(now, away)),
        }
    }
}

fn boxed(desk: Desk) -> Box<Desk> {
    Box::new(desk)
}

impl Budget {
    /// Writes down what it is now, before what it has granted is sent.
    fn keep(&mut self, now: Instant) {
        let mut record = [0; Desk::SNAPSHOT_BYTES];
        let length = self.desk.snapshot(now, &mut record).unwrap_or(0);
        self.unstored = match self.file.write(&record[..length]) {
            Ok(()) => None,
            Err(error) => {
                self.desk.snapshot_was_lost();
                Some(error.to_string())
            }
        };
    }
}

/// A number that nobody else has.
pub(super) fn random() -> u64 {
    RandomState::new().hash_one(())
}
