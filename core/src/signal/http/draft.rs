//! Limits while their numbers are collected from headers.

use super::limits::{Limit, Unit};
use crate::hint::Hint;
use crate::signal::word::Name;
use crate::time::Span;

/// The numbers of a limit, the first ones in the order in which limits are compared. The largest
/// value of each is kept, and zero means none.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Part {
    /// How binding the limit is, after [`Draft::settle`].
    Rank,
    /// The date of the reset in seconds since 1970, plus one. After [`Draft::settle`], the
    /// complement of the remaining calls, or of the limit if they are unknown.
    At,
    /// The milliseconds until the limit is reset, or of a cooldown, plus one.
    After,
    /// The milliseconds of the period, plus one.
    Period,
    /// The complement of the digest of the limit's name.
    Name,
    /// The complement of the remaining calls.
    Left,
    /// The complement of the limit.
    Limit,
    /// The cost of the call, plus one.
    Cost,
    /// The digest of the partition's key.
    Partition,
    /// What is counted, as [`Unit::number`].
    Unit,
}

/// A limit while its numbers are collected. If a number occurs twice, the more conservative value
/// counts, in any order.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[repr(align(8))] // Programs clear a hint in the same way, and link one function for both.
pub struct Draft([u32; 10]);

impl Draft {
    /// A limit without numbers.
    pub(super) const NONE: Self = Self([0; 10]);

    /// Records a number.
    #[inline(never)] // It has many callers.
    pub(super) fn put(&mut self, part: Part, number: u32) {
        self.set(part, number.max(self.get(part)));
    }

    pub(super) fn put_count(&mut self, part: Part, count: u32) {
        self.put(part, !count.min(u32::MAX - 1));
    }

    /// Records a time in milliseconds, or the cost of the call.
    pub(super) fn put_time(&mut self, part: Part, number: u32) {
        self.put(part, number.saturating_add(1));
    }

    pub(super) fn set_name(&mut self, name: Name) {
        self.set(Part::Name, !name.0);
    }

    pub(super) fn note_unit(&mut self, unit: Unit) {
        self.put(Part::Unit, unit.number().into());
    }

    /// In the next draft, `w` with remaining calls is the time until the reset.
    pub(super) fn end_with_period(&mut self) {
        if !self.has(Part::After) && !self.has(Part::Limit) {
            self.set(Part::After, self.get(Part::Period));
            self.set(Part::Period, 0);
        }
    }

    /// Makes it a quota of `count` without a name (`100;w=60`). It is named after its count.
    pub(super) fn loosen(&mut self, count: u32) {
        self.set(Part::Limit, !count);
        self.set(Part::Name, !count);
    }

    /// A number. Zero if there is none.
    pub(super) fn get(&self, part: Part) -> u32 {
        self.0.get(part as usize).copied().unwrap_or(0)
    }

    pub(super) fn set(&mut self, part: Part, number: u32) {
        if let Some(old) = self.0.get_mut(part as usize) {
            *old = number;
        }
    }

    pub(super) fn has(&self, part: Part) -> bool {
        self.get(part) != 0
    }

    /// Whether anything is known about the limit.
    pub(super) fn is_known(&self) -> bool {
        let [_, at, after, period, _, left, limit, cost, ..] = self.0;
        left | after | period | limit | cost | at != 0
    }

    /// Adds the numbers of `other`.
    pub(super) fn merge(&mut self, other: &Self) {
        for (old, number) in self.0.iter_mut().zip(&other.0) {
            *old = (*old).max(*number);
        }
    }

    /// Makes the numbers consistent, the reset a time from `now` (a date like [`Part::At`]), and
    /// computes how binding the limit is. Returns how many numbers were inconsistent.
    pub(super) fn settle(&mut self, now: u32) -> u16 {
        let [rank, at, after, period, _, left, limit, cost, ..] = &mut self.0;
        let mut ignored = 0u16;
        let mut ignore = |number: &mut u32| {
            *number = 0;
            ignored = ignored.wrapping_add(1);
        };
        // More calls are left than the limit.
        if *left > 0 && *left < *limit {
            ignore(left);
        }
        if *limit == u32::MAX {
            ignore(limit);
        }
        // A time takes precedence over a date, because it needs no clock. A past reset is now.
        if *rank == 0 && *at > 0 && *after == 0 {
            if now > 0 {
                let seconds = at.saturating_sub(now).min(u32::MAX / 1_000);
                *after = seconds.wrapping_mul(1_000).wrapping_add(1);
            } else {
                ignore(at);
            }
        }
        // A period that does not fit is unknown: a shorter one would be too fast.
        if *period == u32::MAX {
            *period = 0;
        }
        // The reset is at most the period.
        if *period > 0 {
            *after = (*after).min(*period);
        }
        // An exhausted limit binds most, then the one with the smallest share left, then one
        // without a share, then one without remaining calls.
        *rank = match (*left, *limit) {
            (0, _) => (*after | *period | *limit | *cost != 0).into(),
            (u32::MAX, _) => u32::MAX,
            (_, 0) => 2,
            (left, limit) => !share(!left, !limit),
        };
        *at = (*left).max(*limit);
        ignored
    }

    /// Whether the limit binds more than `other`. Ties go to the fewest calls, the latest reset and
    /// the longest period. The name makes it independent of the order of headers.
    pub(super) fn binds_more(&self, other: &Self) -> bool {
        self.0 > other.0
    }

    /// Whether it is a quota without a name that is the quota of one of the limits, too.
    pub(super) fn is_repeated(&self, limits: &[Self]) -> bool {
        let [_, _, _, period, name, _, limit, ..] = self.0;
        // A limit of zero was dropped.
        (name == limit || name == u32::MAX)
            && limits.iter().any(|other| {
                let [_, _, _, its_period, its_name, _, its_limit, ..] = other.0;
                its_name != name && its_limit == limit && its_period == period
            })
    }

    /// What the limit counts.
    pub(super) fn unit(&self) -> Unit {
        Unit::of_number(self.get(Part::Unit))
    }

    /// Whether it is a limit of calls, after [`settle`](Self::settle).
    pub(super) fn is_of_calls(&self) -> bool {
        self.has(Part::Rank) && self.unit() == Unit::Requests
    }

    /// The value of a time.
    pub(super) fn span(&self, part: Part) -> Option<Span> {
        let millis = self.get(part).checked_sub(1)?;
        Some(Span::from_millis(millis.into()))
    }

    fn count(&self, part: Part) -> Option<u64> {
        self.has(part).then(|| u64::from(!self.get(part)))
    }

    /// Writes the limit to a hint.
    pub(super) fn write_to(&self, hint: &mut Hint) {
        hint.remaining = self.count(Part::Left);
        hint.reset = self.span(Part::After);
        hint.limit = self.count(Part::Limit);
        hint.period = self.span(Part::Period);
    }

    /// The cost of the call for this limit, if reported.
    pub(super) fn cost(&self) -> Option<u32> {
        self.get(Part::Cost).checked_sub(1)
    }

    /// The digest of the limit's name.
    pub(super) fn name(&self) -> Name {
        Name(!self.get(Part::Name))
    }

    /// The limit with its cooldown.
    pub(super) fn limit(&self, retry_after: Option<Span>) -> Limit {
        let partition = Some(Name(self.get(Part::Partition))).filter(|key| key.0 > 0);
        let hint = Hint { retry_after, ..Hint::NONE };
        let mut limit =
            Limit { unit: self.unit(), name: self.name(), partition, cost: self.cost(), hint };
        self.write_to(&mut limit.hint);
        limit
    }
}

/// `left / limit` in units of 2^-31, at most one.
fn share(left: u32, limit: u32) -> u32 {
    if cfg!(target_pointer_width = "64") {
        let share = u64::from(left).wrapping_shl(31).checked_div(limit.into());
        return share.map_or(0, |share| share.min((1 << 31) - 1) as u32);
    }
    share_by_bits(left, limit)
}

/// The same without a division, for which small machines would link a kilobyte.
fn share_by_bits(mut left: u32, limit: u32) -> u32 {
    let mut share = 0u32;
    for _ in 0..31 {
        let missing = limit.wrapping_sub(left);
        let whole = left >= missing;
        left = left.wrapping_add(if whole { missing.wrapping_neg() } else { left });
        share = share << 1 | u32::from(whole);
    }
    share
}

/// Copies the period of each unnamed quota to the limits that have the same number of calls and no
/// period.
pub(super) fn join(drafts: &mut [Draft]) {
    for at in 0..drafts.len() {
        let Some(quota) = drafts.get(at).filter(|draft| draft.has(Part::Period)) else { continue };
        let (period, name) = (quota.get(Part::Period), quota.get(Part::Name));
        for draft in drafts.iter_mut() {
            if !draft.has(Part::Period) && draft.get(Part::Limit) == name {
                draft.set(Part::Period, period);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_share_is_exact(limit in 1..=u32::MAX, left: u32) {
            for left in [left % limit, limit / 2, limit - 1, limit] {
                let exact = (u64::from(left) << 31) / u64::from(limit);
                let exact = exact.min((1 << 31) - 1);
                prop_assert_eq!([share, share_by_bits].map(|by| u64::from(by(left, limit))), [exact; 2]);
            }
        }
    }
}
