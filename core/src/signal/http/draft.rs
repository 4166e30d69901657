//! Limits while their numbers come together, header by header.

use super::limits::{Limit, Name, TOLD, Unit};
use crate::hint::Hint;
use crate::time::Span;

/// How many limits are collected from the headers; those that come later are counted and dropped.
const COLLECTED: usize = 8;

/// What can be told of a limit.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
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

impl Part {
    const fn bit(self) -> u8 {
        1u8.wrapping_shl(self as u32)
    }
}

/// A limit while its numbers come together. Where a number was told twice, the more careful one
/// counts, whichever came first.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) struct Draft {
    pub(super) name: Name,
    /// Which parts were told, a bit each.
    told: u8,
    /// The greatest number that was told of each part; where the least counts, its complement.
    numbers: [u64; 8],
}

impl Draft {
    /// Of what nothing was told.
    pub(super) const NONE: Self = Self { name: Name::NONE, told: 0, numbers: [0; 8] };

    /// Notes a number of which the greatest counts.
    #[inline(never)] // It is called from everywhere.
    pub(super) fn tell(&mut self, part: Part, number: u64) {
        self.told |= part.bit();
        self.set(part, number.max(self.most(part)));
    }

    /// Notes a number of which the least counts.
    pub(super) fn tell_least(&mut self, part: Part, number: u64) {
        self.tell(part, !number);
    }

    /// The greatest number that was told; zero where none was.
    pub(super) fn most(&self, part: Part) -> u64 {
        self.numbers.get(part as usize).copied().unwrap_or(0)
    }

    /// The least number that was told; the largest there is where none was.
    pub(super) fn least(&self, part: Part) -> u64 {
        !self.most(part)
    }

    pub(super) fn has(&self, part: Part) -> bool {
        self.told & part.bit() != 0
    }

    /// What was told as a span.
    pub(super) fn span(&self, part: Part) -> Option<Span> {
        self.has(part).then_some(Span::from_nanos(self.most(part)))
    }

    /// Notes all that was told of `other`.
    pub(super) fn merge(&mut self, other: &Self) {
        self.told |= other.told;
        for (old, number) in self.numbers.iter_mut().zip(other.numbers) {
            *old = number.max(*old);
        }
    }

    /// Whether more was told than what the limit is called.
    pub(super) fn tells(&self) -> bool {
        self.told & !(Part::Unit.bit() | Part::Partition.bit()) != 0
    }

    /// Whether the same was told of both.
    fn says(&self, other: &Self, part: Part) -> bool {
        self.most(part) == other.most(part)
    }

    /// Forgets a number because it makes no sense beside the others, and counts it.
    fn ignore(&mut self, part: Part, ignored: &mut u16) {
        self.told &= !part.bit();
        self.set(part, 0);
        count(ignored);
    }

    fn set(&mut self, part: Part, number: u64) {
        if let Some(old) = self.numbers.get_mut(part as usize) {
            *old = number;
        }
    }

    /// Makes the numbers agree, and all resets spans from `now` (since 1970).
    pub(super) fn settle(&mut self, now: Option<u64>, ignored: &mut u16) {
        let limit = self.least(Part::Limit);
        if limit == 0 {
            self.ignore(Part::Limit, ignored);
        }
        if self.has(Part::Remaining) && self.least(Part::Remaining) > limit {
            self.ignore(Part::Remaining, ignored);
        }
        // A span wins over a date, because it needs no clock. What is past ends now.
        if self.has(Part::At) && !self.has(Part::In) {
            match now {
                Some(now) => self.tell(Part::In, self.most(Part::At).saturating_sub(now)),
                None => self.ignore(Part::At, ignored),
            }
        }
        // The period does not end later than it lasts.
        if self.has(Part::Period) {
            let reset = self.most(Part::In).min(self.most(Part::Period));
            self.set(Part::In, reset);
        }
    }

    /// How long it is from `now` until it ends.
    pub(super) fn wait(mut self, now: Option<u64>, ignored: &mut u16) -> Option<Span> {
        self.settle(now, ignored);
        self.span(Part::In)
    }

    /// How much it binds a client: the less, the more. What is used up comes first, then the lesser
    /// share left, then what tells no share, then what tells of nothing left; of equals the fewer
    /// calls, the later reset and the longer period. The name makes it the same for any order of
    /// the headers.
    fn slack(&self) -> [u64; 5] {
        let (left, limit) = (self.least(Part::Remaining), self.least(Part::Limit));
        let share = match (self.has(Part::Remaining), self.has(Part::Limit)) {
            (true, _) if left == 0 => 0,
            (true, true) => share(left, limit),
            (true, false) => 1 << 33,
            (false, _) => 1 << 34,
        };
        [share, left.min(limit), self.least(Part::In), self.least(Part::Period), self.name.number()]
    }

    fn limit(&self) -> Limit {
        let count = |part| self.has(part).then_some(self.least(part));
        Limit {
            unit: Unit::of_number(self.least(Part::Unit)),
            name: self.name,
            partition: self
                .has(Part::Partition)
                .then_some(Name::of_number(self.most(Part::Partition))),
            hint: Hint {
                remaining: count(Part::Remaining),
                reset: self.span(Part::In),
                limit: count(Part::Limit),
                period: self.span(Part::Period),
                ..Hint::NONE
            },
        }
    }
}

/// `left / limit` in units of 2^-32, and 2^32 more; no more is left than there is.
fn share(mut left: u64, limit: u64) -> u64 {
    let mut share = 1u64;
    // Division by hand, bit by bit: small machines would link a kilobyte for it.
    for _ in 0..32 {
        let missing = limit.saturating_sub(left);
        let whole = left >= missing;
        left = if whole { left.saturating_sub(missing) } else { left.saturating_add(left) };
        share = share << 1 | u64::from(whole);
    }
    share
}

/// Counts what has to be ignored.
pub(super) fn count(ignored: &mut u16) {
    *ignored = ignored.saturating_add(1);
}

/// The limits collected so far, from the left.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
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
    pub(super) fn settle(
        &self,
        now: Option<u64>,
        told: &mut [Option<Limit>; TOLD],
        ignored: &mut u16,
    ) {
        let mut drafts = self.0;
        join(&mut drafts);
        for draft in &mut drafts {
            draft.settle(now, ignored);
        }
        let limits = || drafts.iter().filter(|draft| draft.tells());
        for draft in limits() {
            let slack = draft.slack();
            let before = limits().map(|other| usize::from(other.slack() < slack));
            let rank = before.fold(0, usize::wrapping_add);
            if let Some(place) = told.get_mut(rank) {
                *place = Some(draft.limit());
            }
        }
    }
}

/// Gives each quota without a name to the limits of as many calls that lack a period; of several
/// such quotas the longest counts, as the most careful. One that tells nothing new is dropped.
fn join(drafts: &mut [Draft; COLLECTED]) {
    let told = *drafts;
    for draft in drafts.iter_mut().filter(|draft| !draft.has(Part::Period)) {
        for quota in told.iter().filter(|quota| quota.has(Part::Loose)) {
            if quota.says(draft, Part::Limit) {
                draft.tell(Part::Period, quota.most(Part::Period));
            }
        }
    }
    let joined = *drafts;
    for quota in drafts.iter_mut().filter(|draft| draft.has(Part::Loose)) {
        let mut named = joined.iter().filter(|draft| !draft.has(Part::Loose));
        if named.any(|draft| draft.says(quota, Part::Limit) && draft.says(quota, Part::Period)) {
            *quota = Draft::NONE;
        }
    }
}
