//! The members that a coordinator knows.

use heapless::Vec;

use super::message::Request;
use crate::time::{Instant, Span};

/// The known members, up to `MEMBERS`.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) struct Members<const MEMBERS: usize> {
    list: Vec<Entry, MEMBERS>,
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
    /// Whether calls had been sent without a lease by its latest request. It may not receive
    /// answers, and continue that way.
    alone: bool,
    /// Whether it has left. It no longer counts, but late copies of its messages are
    /// recognised.
    gone: bool,
}

/// How long a member that has left counts for the shares without a coordinator, since it may
/// return when there is none.
const REMEMBERED: Span = Span::from_secs(60);

impl<const MEMBERS: usize> Members<MEMBERS> {
    pub(super) const fn new() -> Self {
        Self { list: Vec::new() }
    }

    /// Registers a request. False if it is a duplicate or arrives after a later one.
    pub(super) fn hear(&mut self, now: Instant, request: &Request) -> bool {
        let &Request { member, sequence, alone, leaving: gone, .. } = request;
        let alone = alone > 0;
        if let Some(entry) = self.list.iter_mut().find(|entry| entry.member == member) {
            let newer = sequence > entry.sequence;
            if newer {
                (entry.sequence, entry.heard) = (sequence, now);
                (entry.alone, entry.gone) = (alone, gone);
                entry.missing = if gone { 0 } else { entry.missing };
            }
            return newer;
        }
        let paid = Instant::ZERO;
        let entry = Entry { member, sequence, heard: now, missing: 0, paid, alone, gone };
        if let Err(entry) = self.list.push(entry)
            && let Some(silent) =
                self.list.iter_mut().min_by_key(|entry| (!entry.gone, entry.heard))
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

    /// How long a member has waited for its next leases, at most `most` if it had enough.
    pub(super) fn waited(&self, now: Instant, member: u64, most: Span) -> Span {
        let known = self.list.iter().find(|entry| entry.member == member);
        known.map_or(most, |entry| {
            let waited = now.saturating_since(entry.paid);
            if entry.missing > 0 { waited } else { waited.min(most) }
        })
    }

    /// Removes members that have been silent for longer, and later those that have left.
    pub(super) fn forget(&mut self, now: Instant, silence: Span) {
        let mut index = 0;
        while let Some(entry) = self.list.get(index) {
            let most = if entry.gone { silence.max(REMEMBERED) } else { silence };
            if now.saturating_since(entry.heard) <= most {
                index = index.saturating_add(1);
            } else if let Some(last) = self.list.pop()
                && let Some(place) = self.list.get_mut(index)
            {
                *place = last;
            }
        }
    }

    /// The number of members, including recent ones.
    pub(super) fn lately(&self) -> u16 {
        count(self.list.iter())
    }

    /// The number of members.
    pub(super) fn count(&self) -> u16 {
        count(self.list.iter().filter(|entry| !entry.gone))
    }

    /// Number of members that sent a request recently and receive answers.
    pub(super) fn present(&self, now: Instant, within: Span) -> u16 {
        count(self.list.iter().filter(|entry| entry.is_present(now, within)))
    }

    /// Number of other members that received less than they wanted, and the sum of their waiting
    /// times.
    pub(super) fn others_wait(&self, now: Instant, within: Span, member: u64) -> (u16, Span) {
        let waits = |entry: &&Entry| entry.missing > 0 && entry.member != member;
        let short = self.list.iter().filter(waits).filter(|entry| entry.is_present(now, within));
        short.fold((0, Span::ZERO), |(others, all): (u16, Span), entry| {
            let waited = now.saturating_since(entry.paid);
            (others.saturating_add(1), all.saturating_add(waited))
        })
    }

    /// How many leases all members together lacked.
    pub(super) fn missing(&self) -> u16 {
        self.list.iter().fold(0, |all: u16, entry| all.saturating_add(entry.missing))
    }

    /// Considers all members gone until they send a request again.
    pub(super) fn all_are_gone(&mut self) {
        for entry in &mut self.list {
            (entry.gone, entry.missing) = (true, 0);
        }
    }
}

impl Entry {
    fn is_present(&self, now: Instant, within: Span) -> bool {
        !self.alone && !self.gone && now.saturating_since(self.heard) <= within
    }
}

fn count(members: impl Iterator<Item = impl Sized>) -> u16 {
    // `count` would add without saturating, and the compiler could not prove that there is no
    // overflow.
    members.fold(0, |all: u16, _| all.saturating_add(1))
}
