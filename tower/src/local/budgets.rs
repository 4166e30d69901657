//! The budgets that one process holds: a coordinator and a file for each key.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tidegate::law::AnyLaw;
use tidegate::shared::{Coordinator, GRANT_BYTES, Leases, Storage};
use tidegate::{Controller, Instant, Policy, Quota, Span};

use super::place::Place;
use super::record::RecordFile;
use super::standing::Standing;
use super::{LocalError, lock};
use crate::gate::random;
use crate::timer::{Timer, Tokio, duration, span};

/// The maximum number of leases and calls in flight, and of known members, on one machine.
const LEASES: usize = 2_048;
const MEMBERS: usize = 256;

/// The lists of budgets and members grow as they are used.
pub(crate) struct Heap;

impl Storage for Heap {
    type List<T, const MOST: usize> = Vec<T>;
}

type Desk = Coordinator<Leases<AnyLaw, LEASES, Heap>, MEMBERS, Heap>;

/// A budget is unloaded after this time without a request. Its file contains everything.
const IDLE: Duration = Duration::from_secs(60);

/// The most budgets that a process holds, as in Node.
const MOST: usize = 256;

/// Where the budgets of a name are, and their options.
pub(super) struct Terms {
    pub(super) place: Place,
    pub(super) expiry: Duration,
    pub(super) heartbeat: Duration,
    pub(super) alone: Quota,
    pub(super) standing: Mutex<Standing>,
}

/// The counters of a budget that this process holds.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct LocalBudget {
    /// The counters of its law.
    pub counts: tidegate::Stats,
    /// How many members share it.
    pub members: u16,
    /// The interval between calls of all members. `None` if there is none.
    pub interval: Option<Duration>,
    /// Why the last attempt to write the budget failed. Calls are leased in both cases.
    pub unstored: Option<String>,
}

struct Budget {
    desk: Desk,
    file: RecordFile,
    asked: Instant,
    unstored: Option<String>,
}

pub(super) struct Budgets {
    terms: Arc<Terms>,
    clock: Tokio,
    /// Whether there was no holder before. If there was, calls may be leased even without a file.
    first: bool,
    budgets: HashMap<Box<[u8]>, Budget>,
}

/// The start of the clock. It leaves room for the instants of records from before the process
/// started.
const PAST: Span = Span::from_secs(1 << 30);

impl Budgets {
    pub(super) fn new(terms: Arc<Terms>, first: bool) -> Self {
        Self { terms, clock: Tokio::default(), first, budgets: HashMap::new() }
    }

    /// Answers a request for a key. What it grants has been written, or there is a reason why not. Empty if there is
    /// nothing to send.
    pub(super) fn answer(
        &mut self,
        key: &[u8],
        request: &[u8],
    ) -> Result<(Vec<u8>, Option<LocalError>), LocalError> {
        let now = self.now();
        if !self.budgets.contains_key(key) {
            self.open(key, now)?;
        }
        let Some(budget) = self.budgets.get_mut(key) else { return Ok((Vec::new(), None)) };
        budget.asked = now;
        let mut grant = vec![0; GRANT_BYTES];
        let length = budget.desk.answer(now, request, &mut grant).map_err(|_| {
            LocalError::new(format!(
                "{} bytes are not a request: they are damaged, or from another version of tidegate",
                request.len()
            ))
        })?;
        grant.truncate(length);
        if length > 0 {
            budget.keep(now);
        }
        let unstored = budget.unstored.as_ref().map(|error| {
            LocalError::new(format!(
                "a record in {} cannot be written: {error}",
                self.terms.place.folder.display()
            ))
        });
        Ok((grant, unstored))
    }

    /// The process that sent this request has ended.
    pub(super) fn ended(&mut self, key: &[u8], request: &[u8]) {
        let now = self.now();
        if let Some(budget) = self.budgets.get_mut(key) {
            let _ = budget.desk.ended(now, request); // an invalid request has no sender
        }
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

    pub(super) fn set_policy(&mut self) {
        let (policy, now) = (self.policy(), self.now());
        for budget in self.budgets.values_mut() {
            budget.desk.source_mut().controller_mut().set_policy(policy, now);
        }
    }

    fn policy(&self) -> Policy<AnyLaw> {
        lock(&self.terms.standing).policy
    }

    fn now(&self) -> Instant {
        self.clock.now() + PAST
    }

    /// Whether all grants have been written, so that another process can continue at once.
    pub(super) fn is_kept(&self) -> bool {
        self.budgets.values().all(|budget| budget.unstored.is_none())
    }

    fn open(&mut self, key: &[u8], now: Instant) -> Result<(), LocalError> {
        let idle = span(IDLE.max(self.terms.heartbeat.saturating_mul(4)));
        let is_used = |budget: &Budget| now - budget.asked <= idle;
        self.budgets.retain(|_, budget| is_used(budget) || budget.unstored.is_some());
        if self.budgets.len() >= MOST {
            return Err(LocalError::new(format!(
                "a process holds at most {MOST} budgets: use fewer keys, or another name for some"
            )));
        }
        let file = RecordFile::new(&self.terms.place, key);
        let desk = match file.read() {
            Some((record, away)) => self.resumed(&record, span(away), now),
            None if self.first => self.fresh(now),
            None => self.fresh(now).in_place_of_another(now, Span::ZERO),
        };
        let mut desk = desk.heartbeat(span(self.terms.heartbeat));
        desk.source_mut().set_expiry(span(self.terms.expiry));
        self.budgets.insert(key.into(), Budget { desk, file, asked: now, unstored: None });
        Ok(())
    }

    fn fresh(&self, now: Instant) -> Desk {
        let control = Controller::new(self.policy(), random(), now);
        Coordinator::new(Leases::new(control), now)
    }

    /// Continues from a record after which nothing was granted.
    fn resumed(&self, record: &[u8], away: Span, now: Instant) -> Desk {
        Desk::restore(self.policy(), random(), record, now, away, true)
            .unwrap_or_else(|_| self.fresh(now).in_place_of_another(now, away))
    }
}

impl Budget {
    /// Writes the record before the grant is sent.
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
