//! The record of a coordinator, and its restoration.

use super::coordinator::Coordinator;
use super::source::Leases;
use super::storage::Storage;
use crate::controller::Controller;
use crate::digest::fnv1a;
use crate::law::Record;
use crate::policy::Policy;
use crate::rng::Rng;
use crate::snapshot::{Reader, SnapshotError, Writer};
use crate::time::{Instant, Span};

/// How long calls of a restored snapshot count as in flight.
const PLACES_KEPT: Span = Span::from_secs(30);

/// The size of what follows the source's record: the number of its next permit, its calls in
/// flight, how far ahead it grants, and the latest granted lease.
const ADDED: usize = 4 + 2 + 8 + 8;
const CHECK: usize = 4;

impl<L: Record + Copy, const LEASES: usize, const MEMBERS: usize, S: Storage>
    Coordinator<Leases<L, LEASES, S>, MEMBERS, S>
{
    /// The length of a snapshot of this kind of coordinator.
    pub const SNAPSHOT_BYTES: usize = Controller::<L>::SNAPSHOT_BYTES.saturating_add(ADDED + CHECK);

    /// Writes what has been learned, as of `now`, to the first
    /// [`SNAPSHOT_BYTES`](Self::SNAPSHOT_BYTES) of `record`, and returns their number. Take one
    /// about every ten seconds while there are requests: until the next one, it grants no further
    /// ahead than this one states. The members are not part of it, since they register with their
    /// requests.
    ///
    /// # Errors
    /// [`SnapshotError::Length`] if `record` is too short.
    pub fn snapshot(&mut self, now: Instant, record: &mut [u8]) -> Result<usize, SnapshotError> {
        let record = record.get_mut(..Self::SNAPSHOT_BYTES).ok_or(SnapshotError::Length)?;
        let now = self.on_own_clock(now);
        let length = self.source().controller().snapshot(now, record)?;
        let (before, check) = record
            .split_at_mut_checked(Self::SNAPSHOT_BYTES.saturating_sub(CHECK))
            .ok_or(SnapshotError::Length)?;
        let lookahead = self.record_lookahead(now);
        if let Some(added) = before.get_mut(length..) {
            let mut out = Writer::new(added, now);
            out.u32(self.source().next_number());
            out.u16(self.source().controller().in_flight());
            out.u64(lookahead.as_nanos());
            out.instant(self.front());
        }
        Writer::new(check, now).u32(fnv1a(before.iter().copied()));
        Ok(Self::SNAPSHOT_BYTES)
    }

    /// Reports that the latest snapshot could not be stored. The coordinator then grants no further
    /// ahead than the previous one states.
    pub fn snapshot_was_lost(&mut self) {
        self.unrecord_lookahead();
    }

    /// The coordinator of a snapshot that was taken `away` before `now`, under a policy with the same laws.
    ///
    /// If the previous coordinator has `ended` with that snapshot, or was idle, nothing was granted
    /// after it, and this one continues immediately. Otherwise the previous one may have granted
    /// until now, as far ahead as its snapshot says. All of that is sent before this one grants its
    /// first lease, so the two never add up, however old the snapshot is.
    ///
    /// ```
    /// use tidegate::law::Fixed;
    /// use tidegate::shared::{Coordinator, Leases};
    /// use tidegate::{Controller, Instant, Policy, Quota, Span};
    ///
    /// type Desk = Coordinator<Leases<Fixed>>;
    /// let policy = Policy::new(Fixed::new(Quota::per_second(50).unwrap()));
    /// let now = Instant::from_nanos(1 << 40);
    /// let mut desk: Desk = Coordinator::new(Leases::new(Controller::new(policy, 7, now)), now);
    /// let mut record = [0; Desk::SNAPSHOT_BYTES];
    /// desk.snapshot(now, &mut record).unwrap();
    /// let again = Desk::restore(policy, 8, &record, now, Span::from_secs(3), false).unwrap();
    /// # let _ = again;
    /// ```
    ///
    /// # Errors
    /// [`SnapshotError`] says what is wrong with the record. Begin with [`new`](Self::new) and
    /// [`in_place_of_another`](Self::in_place_of_another) then.
    pub fn restore(
        policy: Policy<L>,
        seed: u64,
        record: &[u8],
        now: Instant,
        away: Span,
        ended: bool,
    ) -> Result<Self, SnapshotError> {
        if record.len() != Self::SNAPSHOT_BYTES {
            return Err(SnapshotError::Length);
        }
        let split = record.split_at_checked(Self::SNAPSHOT_BYTES.saturating_sub(CHECK));
        let (before, check) = split.ok_or(SnapshotError::Length)?;
        if Reader::new(check, now, away).u32() != fnv1a(before.iter().copied()) {
            return Err(SnapshotError::Damaged);
        }
        let split = before.split_at_checked(Controller::<L>::SNAPSHOT_BYTES);
        let (source, added) = split.ok_or(SnapshotError::Length)?;
        let source = Controller::restore(policy, seed, source, now, away)?;
        let mut input = Reader::new(added, now, away);
        // Numbers granted after the snapshot are unknown, and must not be reused.
        let skipped = (1u32 << 24).wrapping_add(Rng::new(seed).next_u32() >> 8);
        let number = input.u32().wrapping_add(skipped);
        let in_flight = input.u16();
        let lookahead = Span::from_nanos(input.u64());
        let front = input.instant();
        // Calls in flight keep their places, up to half of the limit, so that new ones have room.
        let most = source.concurrency() / 2;
        let mut source = Leases::numbered(source, number);
        source.keep_places(in_flight.min(most), now + PLACES_KEPT);
        let mut made = Self::new(source, now);
        if ended {
            made.begin(now, front, lookahead);
        } else {
            made.follow(now, Span::ZERO, lookahead);
        }
        Ok(made)
    }

    /// The same coordinator, replacing one whose snapshot cannot be read, and which may have
    /// granted until `away` before `now`: all of that is sent before this one grants its first
    /// lease.
    ///
    /// Its lookahead is assumed to be this one's for a single member.
    #[must_use]
    pub fn in_place_of_another(mut self, now: Instant, away: Span) -> Self {
        let lookahead = self.least_lookahead(now);
        self.follow(now, away, lookahead);
        self
    }

    /// What was granted after a snapshot is unknown: when the previous one ended, `away` before
    /// `now`, its burst was used, and its last lease was due a lookahead later.
    fn follow(&mut self, now: Instant, away: Span, lookahead: Span) {
        let front = (now - away) + lookahead;
        self.source_mut().controller_mut().forfeit(front, 0);
        self.begin(now, front, lookahead);
    }
}
