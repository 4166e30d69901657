//! A budget that this process holds: its coordinator, and its record's file.

use std::time::Duration;

use tidegate::law::AnyLaw;
use tidegate::shared::{Coordinator, GRANT_BYTES, Leases, Storage};
use tidegate::{Controller, Instant, Policy, Span};

use super::place::Place;
use super::record::RecordFile;
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

pub(super) struct Budget {
    desk: Desk,
    file: RecordFile,
    clock: Tokio,
    asked: Instant,
    pub(super) unstored: Option<String>,
}

impl Budget {
    /// Continues from the record of the key. Without one, another process may have leased calls until this long ago, or
    /// none if there was none.
    pub(super) fn open(place: &Place, key: &[u8], another: Option<Duration>) -> Self {
        let (clock, file) = (Tokio::default(), RecordFile::new(place, key));
        let (policy, now) = (lock(&place.standing).policy, now(clock));
        let desk = match file.read() {
            Some((record, away)) => resumed(policy, &record, span(away), now),
            None => another.map_or_else(
                || fresh(policy, now),
                |ago| fresh(policy, now).in_place_of_another(now, span(ago)),
            ),
        };
        let mut desk = desk.heartbeat(span(place.share.heartbeat));
        desk.source_mut().set_expiry(span(place.share.expiry));
        Self { desk, file, clock, asked: now, unstored: None }
    }

    /// Answers a request. What it grants has been written, or is `unstored`. Empty if there is nothing to send.
    pub(super) fn answer(&mut self, request: &[u8]) -> Result<Vec<u8>, LocalError> {
        let now = now(self.clock);
        self.asked = now;
        let mut grant = vec![0; GRANT_BYTES];
        let length = self.desk.answer(now, request, &mut grant).map_err(|_| {
            LocalError::new(format!(
                "{} bytes are not a request: they are damaged, or from another version of tidegate",
                request.len()
            ))
        })?;
        grant.truncate(length);
        if length > 0 {
            self.keep(now);
        }
        Ok(grant)
    }

    /// Writes the record before the grant is sent.
    fn keep(&mut self, now: Instant) {
        let mut record = [0; Desk::SNAPSHOT_BYTES];
        let length = self.desk.snapshot(now, &mut record).unwrap_or(0);
        self.unstored = self.file.write(&record[..length]).err().map(|error| error.to_string());
        if self.unstored.is_some() {
            self.desk.snapshot_was_lost();
        }
    }

    /// The process that sent this request has ended.
    pub(super) fn ended(&mut self, request: &[u8]) {
        let _ = self.desk.ended(now(self.clock), request); // an invalid request has no sender
    }

    /// Whether there was a request in this time.
    pub(super) fn was_asked_in(&self, time: Duration) -> bool {
        now(self.clock) - self.asked <= span(time)
    }

    /// Whether all members have left, and no call is in flight.
    pub(super) fn rests(&self) -> bool {
        self.desk.members() == 0 && self.desk.source().controller().in_flight() == 0
    }

    pub(super) fn set_policy(&mut self, policy: Policy<AnyLaw>) {
        self.desk.source_mut().controller_mut().set_policy(policy, now(self.clock));
    }

    pub(super) fn stats(&self) -> LocalBudget {
        let control = self.desk.source().controller();
        LocalBudget {
            counts: *control.stats(),
            members: self.desk.members(),
            interval: control.intervals(now(self.clock)).next().flatten().map(duration),
            unstored: self.unstored.clone(),
        }
    }
}

/// The start of the clock. It leaves room for the instants of records from before the process
/// started.
const PAST: Span = Span::from_secs(1 << 30);

fn now(clock: Tokio) -> Instant {
    clock.now() + PAST
}

fn fresh(policy: Policy<AnyLaw>, now: Instant) -> Desk {
    Coordinator::new(Leases::new(Controller::new(policy, random(), now)), now)
}

/// Continues from a record after which nothing was granted.
fn resumed(policy: Policy<AnyLaw>, record: &[u8], away: Span, now: Instant) -> Desk {
    Desk::restore(policy, random(), record, now, away, true)
        .unwrap_or_else(|_| fresh(policy, now).in_place_of_another(now, away))
}
