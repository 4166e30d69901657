//! The members that a coordinator knows.

use super::kept::{ALL, Kept};
use super::message::Request;
use super::storage::{Storage, Values};
use crate::time::{Instant, Span};

/// The known members, up to `MEMBERS`.
#[derive(Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) struct Members<const MEMBERS: usize, S: Storage> {
    list: Values<Entry, MEMBERS, S>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
struct Entry {
    member: u64,
    /// The number of its latest request.
    sequence: u32,
    heard: Instant,
    /// How many fewer leases it got than it wanted.
    missing: u16,
    /// The time up to which it has what it waited for.
    paid: Instant,
    kept: Kept,
    /// When its first request arrived, if that was here: then no other coordinator has granted it leases.
    joined: Option<Instant>,
    stage: Stage,
}

/// What is known of a member by its latest request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
enum Stage {
    /// It leases.
    Here,
    /// Calls had been sent without a lease. It may not receive answers, and continue that way.
    Alone,
    /// It has left. It no longer counts, but late copies of its messages are recognised.
    Left,
    /// The same, and it does not return.
    Ended,
}

/// How long a member that has left counts for the shares without a coordinator, since it may
/// return when there is none.
const REMEMBERED: Span = Span::from_secs(60);

impl<const MEMBERS: usize, S: Storage> Members<MEMBERS, S> {
    pub(super) fn new() -> Self {
        Self { list: Values::new() }
    }

    /// Registers a request. False if it is a duplicate or arrives after a later one.
    pub(super) fn hear(&mut self, now: Instant, request: &Request) -> bool {
        let &Request { member, sequence, alone, leaving, .. } = request;
        let stage = match (leaving, alone) {
            (true, _) => Stage::Left,
            (_, 0) => Stage::Here,
            _ => Stage::Alone,
        };
        if let Some(entry) = self.list.iter_mut().find(|entry| entry.member == member) {
            let newer = sequence > entry.sequence;
            if newer {
                (entry.sequence, entry.heard, entry.stage) = (sequence, now, stage);
                entry.missing = if leaving { 0 } else { entry.missing };
            }
            return newer;
        }
        let paid = Instant::ZERO;
        let kept = Kept::new(now);
        let joined = (sequence == 1).then_some(now);
        let entry = Entry { member, sequence, heard: now, missing: 0, paid, kept, joined, stage };
        if !self.list.push(entry)
            && let Some(silent) =
                self.list.iter_mut().min_by_key(|entry| (!entry.is_gone(), entry.heard))
        {
            *silent = entry;
        }
        true
    }

    /// Stores the time up to which a member's waits are over, and how many leases were missing.
    pub(super) fn note(&mut self, member: u64, paid: Instant, missing: u16) {
        if let Some(entry) = self.list.iter_mut().find(|entry| entry.member == member) {
            (entry.paid, entry.missing) = (paid, missing);
        }
    }

    /// Counts the leases that were granted to a member.
    pub(super) fn grant(&mut self, now: Instant, member: u64, leases: u16, grace: Span) {
        if let Some(entry) = self.list.iter_mut().find(|entry| entry.member == member) {
            entry.kept.grant(now, leases, grace);
        }
    }

    /// A member has ended after this request, without a last one.
    pub(super) fn end(&mut self, member: u64, sequence: u32) {
        if let Some(entry) = self.list.iter_mut().find(|entry| entry.member == member)
            && entry.sequence <= sequence
        {
            (entry.stage, entry.missing) = (Stage::Ended, 0);
        }
    }

    /// How long a member has waited for its next leases, at most `most` if it had enough.
    pub(super) fn waited(&self, now: Instant, member: u64, most: Span) -> Span {
        let known = self.list.iter().find(|entry| entry.member == member);
        known.map_or(most, |entry| {
            let waited = now - entry.paid;
            if entry.missing > 0 { waited } else { waited.min(most) }
        })
    }

    /// Removes members that have been silent for longer, and later those that have left.
    pub(super) fn forget(&mut self, now: Instant, silence: Span) {
        let mut index = 0;
        while let Some(entry) = self.list.get(index) {
            let most = if entry.is_gone() { silence.max(REMEMBERED) } else { silence };
            if now - entry.heard <= most {
                index = index.saturating_add(1);
            } else if let Some(last) = self.list.pop()
                && let Some(place) = self.list.get_mut(index)
            {
                *place = last;
            }
        }
    }

    /// The number of members, including recent ones that may return.
    pub(super) fn lately(&self) -> u16 {
        count(self.list.iter().filter(|entry| entry.stage != Stage::Ended))
    }

    /// The number of members.
    pub(super) fn count(&self) -> u16 {
        count(self.list.iter().filter(|entry| !entry.is_gone()))
    }

    /// Number of members that sent a request recently and receive answers.
    pub(super) fn present(&self, now: Instant, within: Span) -> u16 {
        count(self.list.iter().filter(|entry| entry.is_present(now, within)))
    }

    /// The part of [`ALL`] leases that members keep that may be calling without the coordinator, if there are `known`
    /// ones in total. A silent member keeps what it was granted lately, at most an even part. One that says that it
    /// calls alone, or is not known by name, keeps an even part. If the coordinator `continues` from another one, so does
    /// each that may have leased from that one. A member that joined here sends at most what it was granted for twice
    /// the grace period, even alone: see [`super::link::Link::share`].
    pub(super) fn kept(
        &self,
        now: Instant,
        within: Span,
        known: u16,
        interval: Option<Span>,
        grace: Span,
        continues: bool,
    ) -> u32 {
        let even = ALL.checked_div(known.into()).unwrap_or(0);
        let unnamed = known.saturating_sub(self.count());
        // Without an interval, all calls that were granted are the rate.
        let interval =
            interval.unwrap_or_else(|| Kept::all(self.list.iter().map(|entry| &entry.kept), grace));
        let absent =
            self.list.iter().filter(|entry| !entry.is_gone() && !entry.is_present(now, within));
        absent.fold(even.saturating_mul(unnamed.into()), |all, entry| {
            let is_alone = entry.stage == Stage::Alone;
            let is_known = match entry.joined {
                Some(joined) => !is_alone || now - joined <= grace * 2,
                None => !is_alone && !continues,
            };
            let part = if is_known { entry.kept.part(interval, grace) } else { ALL };
            all.saturating_add(part.min(even))
        })
    }

    /// Number of other members that received less than they wanted, and the sum of their waiting
    /// times.
    pub(super) fn others_wait(&self, now: Instant, within: Span, member: u64) -> (u16, Span) {
        let waits = |entry: &&Entry| entry.missing > 0 && entry.member != member;
        let short = self.list.iter().filter(waits).filter(|entry| entry.is_present(now, within));
        short.fold((0, Span::ZERO), |(others, all): (u16, Span), entry| {
            let waited = now - entry.paid;
            (others.saturating_add(1), all + waited)
        })
    }

    /// How many leases all members together lacked.
    pub(super) fn missing(&self) -> u16 {
        self.list.iter().fold(0, |all: u16, entry| all.saturating_add(entry.missing))
    }

    /// Considers all members gone until they send a request again.
    pub(super) fn all_are_gone(&mut self) {
        for entry in self.list.iter_mut().filter(|entry| !entry.is_gone()) {
            (entry.stage, entry.missing) = (Stage::Left, 0);
        }
    }
}

impl Entry {
    fn is_present(&self, now: Instant, within: Span) -> bool {
        self.stage == Stage::Here && now - self.heard <= within
    }

    fn is_gone(&self) -> bool {
        matches!(self.stage, Stage::Left | Stage::Ended)
    }
}

fn count(members: impl Iterator<Item = impl Sized>) -> u16 {
    // `count` would add without saturating, and the compiler could not prove that there is no
    // overflow.
    members.fold(0, |all: u16, _| all.saturating_add(1))
}
