//! Limits while their numbers are collected from headers.

use super::limits::{Limit, Name, Unit};
use super::number::Number;
use crate::hint::Hint;
use crate::time::Span;

/// The numbers of a limit, the first ones in the order in which limits are compared. The largest
/// value of each is kept.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Part {
    /// The date of the reset. After [`settle`], how binding the limit is.
    At,
    /// The remaining calls, as a complement.
    Left,
    /// The time from now until the limit is reset, or the cooldown.
    After,
    Period,
    /// The digest of the limit's name, as a complement.
    Name,
    /// The complement of the limit.
    Limit,
    /// The cost of the call.
    Cost,
    /// The digest of the partition's key.
    Partition,
    /// What is counted, as [`Unit::number`].
    Unit,
}

/// The bit of a quota without a name (`100;w=60`). It belongs to the limit with the same number of
/// calls, if there is one. It reuses the bit of the name, which is never told.
const LOOSE: Part = Part::Name;
/// The bit of a limit whose period comes from a quota without a name.
const JOINED: Part = Part::Partition;

/// A limit while its numbers are collected. If a number occurs twice, the more conservative value
/// counts, in any order.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[repr(align(8))] // Programs clear a hint in the same way, and link one function for both.
pub struct Draft<N> {
    /// One number for each [`Part`].
    numbers: [N; 9],
    /// Which numbers are known, one bit each. Zero if nothing is known about the limit.
    told: N,
}

impl<N: Number> Draft<N> {
    /// A limit without numbers.
    pub(super) const NONE: Self = Self { numbers: [N::ZERO; 9], told: N::ZERO };

    /// Records a number of which the largest counts.
    #[inline(never)] // It has many callers.
    pub(super) fn put(&mut self, part: Part, number: N) {
        self.told = self.told | bit(part);
        self.note(part, number);
    }

    /// Records a number that alone says nothing about the limit.
    pub(super) fn note(&mut self, part: Part, number: N) {
        self.set(part, number.max(self.get(part)));
    }

    /// Records a count, of which the smallest counts.
    pub(super) fn put_count(&mut self, part: Part, count: u64) {
        self.put(part, N::of(count).complement());
    }

    pub(super) fn set_name(&mut self, name: Name) {
        self.set(Part::Name, N::of(name.0.into()).complement());
    }

    pub(super) fn note_unit(&mut self, unit: Unit) {
        self.note(Part::Unit, N::of(unit.number().into()));
    }

    /// In the next draft, `w` with remaining calls is the time until the reset.
    pub(super) fn end_with_period(&mut self) {
        if self.has(Part::Period) && !self.has(Part::After) && !self.has(Part::Limit) {
            self.put(Part::After, self.get(Part::Period));
            self.drop(Part::Period);
        }
    }

    /// Makes it a quota of `count` without a name, if it has a period. Returns whether it has.
    pub(super) fn loosen(&mut self, count: u64) -> bool {
        if !self.has(Part::Period) {
            return false;
        }
        let period = self.get(Part::Period).get();
        self.put_count(Part::Limit, count);
        self.set_name(Name::of([count.to_le_bytes(), period.to_le_bytes()].as_flattened()));
        self.told = self.told | bit(LOOSE);
        true
    }

    /// A number. Zero if there is none.
    pub(super) fn get(&self, part: Part) -> N {
        self.numbers.get(part as usize).copied().unwrap_or(N::ZERO)
    }

    pub(super) fn set(&mut self, part: Part, number: N) {
        if let Some(old) = self.numbers.get_mut(part as usize) {
            *old = number;
        }
    }

    fn drop(&mut self, part: Part) {
        self.forget(part);
        self.set(part, N::ZERO);
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.told = N::ZERO;
    }

    fn forget(&mut self, part: Part) {
        self.told = self.told & bit::<N>(part).complement();
    }

    pub(super) fn has(&self, part: Part) -> bool {
        self.told & bit(part) != N::ZERO
    }

    /// Whether anything is known about the limit.
    pub(super) fn is_known(&self) -> bool {
        self.told != N::ZERO
    }

    /// The value of a number as a span.
    pub(super) fn span(&self, part: Part) -> Option<Span> {
        self.has(part).then(|| self.get(part).span())
    }

    fn count(&self, part: Part) -> Option<u64> {
        self.has(part).then(|| self.get(part).complement().get())
    }

    /// Adds the numbers of `other`.
    pub(super) fn merge(&mut self, other: &Self) {
        self.told = self.told | other.told;
        for (old, number) in self.numbers.iter_mut().zip(&other.numbers) {
            *old = (*old).max(*number);
        }
    }

    fn is_loose(&self) -> bool {
        self.has(LOOSE)
    }

    /// Makes the numbers consistent, and the reset a span from `now` (since 1970). Counts
    /// numbers that are inconsistent with the others.
    fn settle(&mut self, now: Option<N>, ignored: &mut u16) {
        let mut ignore = |draft: &mut Self, part| {
            draft.drop(part);
            *ignored = ignored.saturating_add(1);
        };
        // More calls are left than the limit.
        if self.has(Part::Left) && self.get(Part::Left) < self.get(Part::Limit) {
            ignore(self, Part::Left);
        }
        if self.get(Part::Limit) == N::ZERO.complement() {
            ignore(self, Part::Limit);
        }
        // A span takes precedence over a date, because it needs no clock. A past reset is now.
        if self.has(Part::At) && !self.has(Part::After) {
            match now {
                Some(now) => self.put(Part::After, self.get(Part::At).since(now)),
                None => ignore(self, Part::At),
            }
        }
        // The reset is at most the period.
        if self.has(Part::Period) {
            self.set(Part::After, self.get(Part::After).min(self.get(Part::Period)));
        }
    }

    /// Computes how binding the limit is. An exhausted limit binds most, then the one with the
    /// smallest share left, then one without a share, then one without remaining calls. Ties go to
    /// the fewest calls, the latest reset and the longest period. The name makes it independent of
    /// the order of headers.
    fn weigh(&mut self) {
        let left = self.get(Part::Left).complement();
        let slack = if !self.has(Part::Left) {
            self.set(Part::Left, self.get(Part::Limit));
            N::UNKNOWN_LEFT
        } else if left == N::ZERO {
            left
        } else if self.has(Part::Limit) {
            left.share(self.get(Part::Limit).complement())
        } else {
            N::UNKNOWN_SHARE
        };
        self.drop(Part::At);
        self.set(Part::At, slack.complement());
    }

    /// Whether the limit binds more than `other`.
    pub(super) fn binds_more(&self, other: &Self) -> bool {
        self.numbers > other.numbers
    }

    /// What the limit counts.
    pub(super) fn unit(&self) -> Unit {
        Unit::of_number(self.get(Part::Unit).get())
    }

    /// Whether it is a limit of calls.
    pub(super) fn is_of_calls(&self) -> bool {
        self.is_known() && self.unit() == Unit::Requests
    }

    /// Writes the limit to a hint.
    pub(super) fn write_to(&self, hint: &mut Hint) {
        hint.remaining = self.count(Part::Left);
        hint.reset = self.span(Part::After);
        hint.limit = self.count(Part::Limit);
        hint.period = self.span(Part::Period);
    }
}

#[expect(clippy::cast_possible_truncation, reason = "digests have 32 bits")]
impl Draft<u64> {
    /// The cost of the call for this limit, if reported.
    pub(super) fn cost(&self) -> Option<u32> {
        self.has(Part::Cost).then(|| u32::try_from(self.get(Part::Cost)).unwrap_or(u32::MAX))
    }

    /// The digest of the limit's name.
    pub(super) fn name(&self) -> Name {
        Name(!self.get(Part::Name) as u32)
    }

    /// The limit with its cooldown.
    pub(super) fn limit(&self, retry_after: Option<Span>) -> Limit {
        let name = self.name();
        let partition = Some(Name(self.get(Part::Partition) as u32)).filter(|key| key.0 > 0);
        let hint = Hint { retry_after, ..Hint::NONE };
        let mut limit = Limit { unit: self.unit(), name, partition, cost: self.cost(), hint };
        self.write_to(&mut limit.hint);
        limit
    }
}

fn bit<N: Number>(part: Part) -> N {
    N::from(1u8.wrapping_shl(part as u32))
}

/// Makes the numbers of all limits consistent, so that they can be compared. Counts inconsistent
/// numbers.
pub(super) fn settle<N: Number>(drafts: &mut [Draft<N>], now: Option<N>, ignored: &mut u16) {
    for draft in drafts.iter_mut().filter(|draft| draft.is_known()) {
        draft.settle(now, ignored);
        // A limit of zero calls was removed.
        if draft.is_known() {
            draft.weigh();
        }
    }
}

/// Copies the period of each unnamed quota to the limits that have the same number of calls and no
/// period. If several quotas match, the longest period is used, because it is the most
/// conservative. A quota that adds nothing is dropped.
pub(super) fn join<N: Number>(drafts: &mut [Draft<N>]) {
    for drops in [false, true] {
        for at in 0..drafts.len() {
            let Some(quota) = drafts.get(at).filter(|draft| draft.is_loose()) else { continue };
            let (limit, period) = (quota.get(Part::Limit), quota.get(Part::Period));
            let mut adds = true;
            for draft in drafts.iter_mut() {
                if draft.is_loose() || draft.get(Part::Limit) != limit {
                    continue;
                }
                let lacks = !draft.has(Part::Period) || draft.has(JOINED);
                if lacks && !drops {
                    draft.told = draft.told | bit(JOINED);
                    draft.put(Part::Period, period);
                }
                adds &= draft.get(Part::Period) != period;
            }
            if drops && let Some(quota) = drafts.get_mut(at) {
                if adds { quota.forget(LOOSE) } else { quota.clear() }
            }
        }
    }
}
