//! Limits while their numbers come together, header by header.

use super::limits::{Limit, Name, TOLD, Unit, insert};
use crate::hint::Hint;
use crate::time::Span;

/// How many limits are collected from the headers; those that come later are counted and dropped.
const COLLECTED: usize = 8;

/// What can be told of a limit.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    /// How many calls fit into a period; the least counts.
    Limit,
    /// How many calls are left; the least counts.
    Remaining,
    /// How long the period is, in nanoseconds.
    Period,
    /// When it ends, in nanoseconds from now.
    In,
    /// When it ends, in nanoseconds from the start of 1970.
    At,
    /// What is counted; the first of the units counts.
    Unit,
    /// The digest of the partition key.
    Partition,
    /// That it is a quota without a name (`100;w=60`). It belongs to the limit of as many calls, if
    /// there is one.
    Loose,
}

/// A limit while its numbers come together. Where a number was told twice, the more careful one
/// counts, whichever came first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Draft {
    pub(super) name: Name,
    /// Which parts were told, a bit each.
    told: u8,
    /// The greatest number that was told of each part; where the least counts, its complement.
    numbers: [u64; 8],
}

impl Draft {
    /// Of what nothing was told.
    pub(super) const NONE: Self = Self::new(Name::NONE);

    pub(super) const fn new(name: Name) -> Self {
        Self { name, told: 0, numbers: [0; 8] }
    }

    /// Notes a number of which the greatest counts.
    pub(super) fn tell(&mut self, part: Part, number: u64) {
        self.told |= 1 << part as u8;
        if let Some(old) = self.numbers.get_mut(part as usize) {
            *old = number.max(*old);
        }
    }

    /// Notes a number of which the least counts.
    pub(super) fn tell_least(&mut self, part: Part, number: u64) {
        self.tell(part, !number);
    }

    /// The greatest number that was told.
    pub(super) fn most(&self, part: Part) -> Option<u64> {
        let number = self.numbers.get(part as usize)?;
        self.has(part).then_some(*number)
    }

    /// The least number that was told.
    pub(super) fn least(&self, part: Part) -> Option<u64> {
        self.most(part).map(|number| !number)
    }

    pub(super) fn has(&self, part: Part) -> bool {
        self.told & 1 << part as u8 != 0
    }

    /// Whether more was told than what the limit is called.
    pub(super) fn tells(&self) -> bool {
        [Part::Limit, Part::Remaining, Part::In, Part::At].iter().any(|part| self.has(*part))
    }

    /// Whether the same was told of both.
    fn says(&self, other: &Self, part: Part) -> bool {
        self.most(part) == other.most(part)
    }

    /// Notes all that was told of `other`.
    pub(super) fn merge(&mut self, other: &Self) {
        self.told |= other.told;
        for (old, number) in self.numbers.iter_mut().zip(other.numbers) {
            *old = number.max(*old);
        }
    }

    /// How long it is from `now` (since 1970) until it ends; zero where that is past. A span wins
    /// over a date, because it needs no clock; a date without a clock is nothing, and counted.
    pub(super) fn reset(&self, now: Option<u64>, ignored: &mut u16) -> Option<Span> {
        let until = || Some(self.most(Part::At)?.saturating_sub(now?));
        let reset = self.most(Part::In).or_else(until);
        count(ignored, reset.is_none() && self.has(Part::At));
        reset.map(Span::from_nanos)
    }

    /// The limit in numbers that do not contradict each other; `None` where nothing is left of it.
    pub(super) fn settle(&self, now: Option<u64>, ignored: &mut u16) -> Option<Limit> {
        let period = self.most(Part::Period).map(Span::from_nanos);
        let most = self.least(Part::Limit);
        let limit = most.filter(|limit| *limit > 0);
        count(ignored, most != limit);
        let left = self.least(Part::Remaining);
        let remaining = left.filter(|left| *left <= most.unwrap_or(u64::MAX));
        count(ignored, left != remaining);
        // The period does not end later than it lasts.
        let reset = self.reset(now, ignored).map(|reset| reset.min(period.unwrap_or(Span::MAX)));
        if remaining.is_none() && reset.is_none() && limit.is_none() && period.is_none() {
            return None;
        }
        let hint = Hint { remaining, reset, limit, period, ..Hint::NONE };
        let unit = self.least(Part::Unit).map_or(Unit::Requests, Unit::of_number);
        let partition = self.most(Part::Partition).map(Name::of_number);
        Some(Limit { unit, name: self.name, partition, hint })
    }
}

/// Counts what has to be ignored.
pub(super) fn count(ignored: &mut u16, one: bool) {
    *ignored = ignored.saturating_add(u16::from(one));
}

/// The limits collected so far, from the left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drafts([Draft; COLLECTED]);

impl Drafts {
    pub(super) const NONE: Self = Self([Draft::NONE; COLLECTED]);

    /// Notes what was told of a limit; false where there is no room for it.
    pub(super) fn add(&mut self, draft: &Draft) -> bool {
        let slot = self.0.iter_mut().find(|slot| slot.told == 0 || slot.name == draft.name);
        let Some(slot) = slot else { return false };
        slot.name = draft.name;
        slot.merge(draft);
        true
    }

    /// The limits that were told of, the binding one first.
    ///
    /// A quota without a name is given to the limits of as many calls that lack a period; of several
    /// such quotas the longest counts, as the most careful. One that told nothing new is no limit.
    pub(super) fn settle(&self, now: Option<u64>, ignored: &mut u16) -> [Option<Limit>; TOLD] {
        let mut drafts = self.0;
        for draft in drafts.iter_mut().filter(|draft| !draft.has(Part::Period)) {
            for quota in self.0.iter().filter(|quota| quota.has(Part::Loose)) {
                if let (true, Some(period)) =
                    (quota.says(draft, Part::Limit), quota.most(Part::Period))
                {
                    draft.tell(Part::Period, period);
                }
            }
        }
        let mut told = [None; TOLD];
        for draft in &drafts {
            let twin =
                |other: &&Draft| other.says(draft, Part::Limit) && other.says(draft, Part::Period);
            let known = |other: &Draft| !other.has(Part::Loose);
            if draft.has(Part::Loose) && drafts.iter().filter(twin).any(known) {
                continue;
            }
            if let Some(limit) = draft.settle(now, ignored) {
                insert(&mut told, limit);
            }
        }
        told
    }
}
