//! The members: which isolates there are, as far as their coordinator has heard.

use heapless::Vec;

use super::message::Request;
use crate::time::{Instant, Span};

/// The isolates that were heard of, up to `ISOLATES` of them.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) struct Members<const ISOLATES: usize> {
    list: Vec<Member, ISOLATES>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
struct Member {
    isolate: u64,
    /// Of its latest request.
    sequence: u32,
    heard: Instant,
    /// How much less it got than it wanted.
    missing: u16,
    /// When it got a departure last.
    granted: Instant,
    /// Whether calls had left without a lease by its latest request: it may not hear us, and go on so.
    alone: bool,
    /// Whether it has said good-bye: it counts for nothing, but late copies of what it said are known.
    gone: bool,
}

/// For so long an isolate that said good-bye has a share of what all may send without a coordinator: it
/// may come back when there is none.
const REMEMBERED: Span = Span::from_secs(60);

impl<const ISOLATES: usize> Members<ISOLATES> {
    pub(super) const fn new() -> Self {
        Self { list: Vec::new() }
    }

    /// Hears a request of an isolate. False where it has been heard before, or came after a later one:
    /// messages may be doubled and overtake each other.
    pub(super) fn hear(&mut self, now: Instant, request: &Request) -> bool {
        let &Request { isolate, sequence, alone, leaving: gone, .. } = request;
        let alone = alone > 0;
        if let Some(member) = self.list.iter_mut().find(|member| member.isolate == isolate) {
            let newer = sequence > member.sequence;
            if newer {
                (member.sequence, member.heard) = (sequence, now);
                (member.alone, member.gone) = (alone, gone);
                member.missing = if gone { 0 } else { member.missing };
            }
            return newer;
        }
        let granted = Instant::ZERO;
        let member = Member { isolate, sequence, heard: now, missing: 0, granted, alone, gone };
        if let Err(member) = self.list.push(member)
            && let Some(silent) =
                self.list.iter_mut().min_by_key(|member| (!member.gone, member.heard))
        {
            *silent = member;
        }
        true
    }

    /// What the latest answer to an isolate was, and how much less than it wanted.
    pub(super) fn note(&mut self, now: Instant, isolate: u64, granted: u16, missing: u16) {
        if let Some(member) = self.list.iter_mut().find(|member| member.isolate == isolate) {
            member.missing = missing;
            if granted > 0 {
                member.granted = now;
            }
        }
    }

    /// How long ago an isolate that is short got something; `None` where it is not.
    pub(super) fn short_for(&self, now: Instant, isolate: u64) -> Option<Span> {
        let member = self.list.iter().find(|member| member.isolate == isolate)?;
        (member.missing > 0).then(|| now.saturating_since(member.granted))
    }

    /// Forgets those that have been silent for longer, and those that said good-bye later.
    pub(super) fn forget(&mut self, now: Instant, silence: Span) {
        let mut index = 0;
        while let Some(member) = self.list.get(index) {
            let most = if member.gone { silence.max(REMEMBERED) } else { silence };
            if now.saturating_since(member.heard) <= most {
                index = index.saturating_add(1);
            } else if let Some(last) = self.list.pop()
                && let Some(place) = self.list.get_mut(index)
            {
                *place = last;
            }
        }
    }

    /// How many there are, and have been of late.
    pub(super) fn lately(&self) -> u16 {
        count(self.list.iter())
    }

    /// How many there are.
    pub(super) fn count(&self) -> u16 {
        count(self.list.iter().filter(|member| !member.gone))
    }

    /// How many have been heard of within so long, and hear us.
    pub(super) fn present(&self, now: Instant, within: Span) -> u16 {
        count(self.list.iter().filter(|member| member.is_present(now, within)))
    }

    /// How many others have got less than they wanted, and will come back for it.
    pub(super) fn others_short(&self, now: Instant, within: Span, isolate: u64) -> u16 {
        let waits = |member: &&Member| member.missing > 0 && member.isolate != isolate;
        count(self.list.iter().filter(waits).filter(|member| member.is_present(now, within)))
    }

    /// How much all have got less than they wanted.
    pub(super) fn missing(&self) -> u16 {
        self.list.iter().fold(0, |all: u16, member| all.saturating_add(member.missing))
    }

    /// Takes all for gone until they are heard again.
    pub(super) fn all_are_gone(&mut self) {
        for member in &mut self.list {
            (member.gone, member.missing) = (true, 0);
        }
    }
}

impl Member {
    fn is_present(&self, now: Instant, within: Span) -> bool {
        !self.alone && !self.gone && now.saturating_since(self.heard) <= within
    }
}

fn count(members: impl Iterator<Item = impl Sized>) -> u16 {
    // `count` would add without saturating, and nobody could see that it ends in time.
    members.fold(0, |all: u16, _| all.saturating_add(1))
}
