//! Limits while their numbers are collected from headers.

use super::dialect::Term;
use super::limits::{Limit, Name, Unit};
use crate::hint::Hint;
use crate::time::Span;

/// The bit of a limit whose period comes from a quota without a name.
const JOINED: u8 = 1 << 0;
/// The bit of a quota without a name (`100;w=60`). It belongs to the limit with the same number of
/// calls, if there is one.
const LOOSE: u8 = 1 << 7;
/// The bit of a limit with a reported cost. It reuses the bit of the name.
const PRICED: u8 = bit(Term::Name);

/// A limit while its numbers are collected. If a number occurs twice, the more conservative value
/// counts, in any order.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) struct Draft {
    /// The largest number for each [`Term`]. Counts are stored as complements, so the smallest is
    /// kept. After [`settle`], the first is how binding the limit is, and limits are compared by
    /// it.
    numbers: [u64; 7],
    /// The digest of the partition's key. Zero if there is none.
    pub(super) partition: u32,
    /// The highest cost of the call.
    cost: u32,
    /// Which numbers are known, one bit each.
    pub(super) told: u8,
    /// The first of the units, as [`Unit::number`]. Zero if there is none.
    pub(super) unit: u8,
}

impl Draft {
    /// A limit without numbers.
    pub(super) const NONE: Self = Self { numbers: [0; 7], partition: 0, cost: 0, told: 0, unit: 0 };

    /// Records a number of which the largest counts.
    #[inline(never)] // It has many callers.
    pub(super) fn tell(&mut self, term: Term, number: u64) {
        self.told |= bit(term);
        self.set(term, number.max(self.most(term)));
    }

    /// Records a number of which the smallest counts.
    pub(super) fn tell_least(&mut self, term: Term, number: u64) {
        self.tell(term, !number);
    }

    pub(super) fn set_name(&mut self, name: Name) {
        self.set(Term::Name, !u64::from(name.0));
    }

    pub(super) fn set_cost(&mut self, cost: u64) {
        self.told |= PRICED;
        self.cost = self.cost.max(u32::try_from(cost).unwrap_or(u32::MAX));
    }

    /// In the next draft, `w` with remaining calls is the time until the reset.
    pub(super) fn end_with_period(&mut self) {
        if self.has(Term::Period) && !self.has(Term::ResetAfter) && !self.has(Term::Limit) {
            self.tell(Term::ResetAfter, self.most(Term::Period));
            self.told &= !bit(Term::Period);
            self.set(Term::Period, 0);
        }
    }

    /// Makes it a quota of `count` without a name.
    pub(super) fn loosen(&mut self, count: u64) {
        let period = self.most(Term::Period);
        self.tell_least(Term::Limit, count);
        self.set_name(Name::of([count.to_le_bytes(), period.to_le_bytes()].as_flattened()));
        self.told |= LOOSE;
    }

    /// The largest value of a number. Zero if there is none.
    pub(super) fn most(&self, term: Term) -> u64 {
        self.numbers.get(term as usize).copied().unwrap_or(0)
    }

    /// The smallest value of a number. The maximum if there is none.
    fn least(&self, term: Term) -> u64 {
        !self.most(term)
    }

    pub(super) fn has(&self, term: Term) -> bool {
        self.told & bit(term) != 0
    }

    /// The value of a number as a span.
    pub(super) fn span(&self, term: Term) -> Option<Span> {
        self.has(term).then_some(Span::from_nanos(self.most(term)))
    }

    /// Adds the numbers of `other`.
    pub(super) fn merge(&mut self, other: &Self) {
        self.told |= other.told;
        self.unit = self.unit.max(other.unit);
        self.partition = self.partition.max(other.partition);
        self.cost = self.cost.max(other.cost);
        for (old, number) in self.numbers.iter_mut().zip(&other.numbers) {
            *old = (*old).max(*number);
        }
    }

    /// Whether both have the same number.
    fn same(&self, other: &Self, term: Term) -> bool {
        self.most(term) == other.most(term)
    }

    /// Removes a number that is inconsistent with the others, and counts it.
    fn ignore(&mut self, term: Term, ignored: &mut u16) {
        self.told &= !bit(term);
        self.set(term, 0);
        count(ignored);
    }

    fn set(&mut self, term: Term, number: u64) {
        if let Some(old) = self.numbers.get_mut(term as usize) {
            *old = number;
        }
    }

    /// Makes the numbers consistent, and the reset a span from `now` (since 1970).
    pub(super) fn settle(&mut self, now: Option<u64>, ignored: &mut u16) {
        let limit = self.least(Term::Limit);
        if limit == 0 {
            self.ignore(Term::Limit, ignored);
        }
        if self.has(Term::Left) && self.least(Term::Left) > limit {
            self.ignore(Term::Left, ignored);
        }
        // A span takes precedence over a date, because it needs no clock. A past reset is now.
        if self.has(Term::Reset) && !self.has(Term::ResetAfter) {
            match now {
                Some(now) => {
                    self.tell(Term::ResetAfter, self.most(Term::Reset).saturating_sub(now))
                }
                None => self.ignore(Term::Reset, ignored),
            }
        }
        // The reset is at most the period.
        if self.has(Term::Period) {
            self.set(Term::ResetAfter, self.most(Term::ResetAfter).min(self.most(Term::Period)));
        }
    }

    /// Computes how binding the limit is. An exhausted limit binds most, then the one with the
    /// smallest share left, then one without a share, then one without remaining calls. Ties go to
    /// the fewest calls, the latest reset and the longest period. The name makes it independent of
    /// the order of headers.
    fn weigh(&mut self) {
        let (left, limit) = (self.least(Term::Left), self.least(Term::Limit));
        let slack = if self.has(Term::Left) {
            match left {
                0 => 0,
                _ if self.has(Term::Limit) => share(left, limit),
                _ => 1 << 33,
            }
        } else {
            self.set(Term::Left, !limit);
            1 << 34
        };
        self.set(Term::Unit, !slack);
    }

    /// What the limit counts.
    pub(super) fn unit(&self) -> Unit {
        Unit::of_number(self.unit)
    }

    pub(super) fn is_of_calls(&self) -> bool {
        self.unit() == Unit::Requests
    }

    /// The cost of the call for this limit, if reported.
    pub(super) fn cost(&self) -> Option<u32> {
        (self.told & PRICED != 0).then_some(self.cost)
    }

    /// The digest of the limit's name.
    #[expect(clippy::cast_possible_truncation, reason = "it comes from a digest of 32 bits")]
    pub(super) fn name(&self) -> Name {
        Name(self.least(Term::Name) as u32)
    }

    fn count_of(&self, term: Term) -> Option<u64> {
        self.has(term).then_some(self.least(term))
    }

    /// Writes the limit to a hint.
    pub(super) fn tell_in(&self, hint: &mut Hint) {
        hint.remaining = self.count_of(Term::Left);
        hint.reset = self.span(Term::ResetAfter);
        hint.limit = self.count_of(Term::Limit);
        hint.period = self.span(Term::Period);
    }

    /// The limit with its cooldown.
    pub(super) fn limit(&self, retry_after: Option<Span>) -> Limit {
        let name = self.name();
        let partition = (self.partition > 0).then_some(Name(self.partition));
        let hint = Hint { retry_after, ..Hint::NONE };
        let mut limit = Limit { unit: self.unit(), name, partition, cost: self.cost(), hint };
        self.tell_in(&mut limit.hint);
        limit
    }
}

const fn bit(term: Term) -> u8 {
    1u8.wrapping_shl(term as u32)
}

/// `left / limit` in units of 2^-32, plus 2^32; at most one.
fn share(mut left: u64, limit: u64) -> u64 {
    let mut share = 1u64;
    // Division bit by bit, because small machines would link a kilobyte for it.
    for _ in 0..32 {
        let missing = limit.wrapping_sub(left);
        let whole = left >= missing;
        left = left.wrapping_add(if whole { missing.wrapping_neg() } else { left });
        share = share << 1 | u64::from(whole);
    }
    share
}

/// Counts an ignored value.
pub(super) fn count(ignored: &mut u16) {
    *ignored = ignored.saturating_add(1);
}

/// Adds what a header says about a limit. Returns false if there is no room for it.
pub(super) fn add(drafts: &mut [Draft], draft: &Draft) -> bool {
    let mut slots = drafts.iter_mut();
    let slot = slots.find(|slot| slot.told == 0 || slot.same(draft, Term::Name));
    let known = slot.is_some();
    if let Some(slot) = slot {
        slot.merge(draft);
    }
    known
}

/// Writes the limits of `drafts` to `limits`, the binding one first, as many as fit.
pub(super) fn settle(
    drafts: &mut [Draft],
    now: Option<u64>,
    limits: &mut [Draft],
    ignored: &mut u16,
) {
    join(drafts);
    for draft in drafts.iter_mut().filter(|draft| draft.told != 0) {
        draft.settle(now, ignored);
        // A limit of zero calls was removed.
        if draft.told != 0 {
            draft.weigh();
        }
    }
    for draft in drafts.iter().filter(|draft| draft.told != 0) {
        let before = drafts.iter().map(|other| usize::from(other.numbers > draft.numbers));
        let rank = before.fold(0, usize::wrapping_add);
        if let Some(place) = limits.get_mut(rank) {
            place.merge(draft);
        }
    }
}

/// Copies the period of each unnamed quota to the limits that have the same number of calls and no
/// period. If several quotas match, the longest period is used, because it is the most
/// conservative. A quota that adds nothing is dropped.
fn join(drafts: &mut [Draft]) {
    let loose = |draft: &Draft| draft.told & LOOSE != 0;
    for at in 0..drafts.len() {
        let Some(quota) = drafts.get(at).filter(|draft| loose(draft)) else { continue };
        let (limit, period) = (quota.most(Term::Limit), quota.most(Term::Period));
        for draft in drafts.iter_mut().filter(|draft| !loose(draft)) {
            let lacks = !draft.has(Term::Period) || draft.told & JOINED != 0;
            if lacks && draft.most(Term::Limit) == limit {
                draft.told |= JOINED;
                draft.tell(Term::Period, period);
            }
        }
    }
    for at in 0..drafts.len() {
        let Some(quota) = drafts.get(at).filter(|draft| loose(draft)) else { continue };
        let same = |draft: &Draft| {
            !loose(draft) && draft.same(quota, Term::Limit) && draft.same(quota, Term::Period)
        };
        if drafts.iter().any(same)
            && let Some(quota) = drafts.get_mut(at)
        {
            *quota = Draft::NONE;
        }
    }
}
