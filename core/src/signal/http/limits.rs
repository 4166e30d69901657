//! The limits that one response told of: collected header by header, then made consistent and put
//! in order.

use core::cmp::{Ordering, Reverse};

use super::field::Key;
use super::moment::Moments;
use crate::digest::fnv1a;
use crate::hint::Hint;
use crate::time::Span;

/// How many limits an answer holds, which is how many a controller keeps.
pub(super) const TOLD: usize = 4;

/// How many limits are collected from the headers; those that come later are counted and dropped.
const COLLECTED: usize = 8;

/// What a limit counts.
///
/// ```
/// use tidegate::signal::http::{Reading, Unit};
///
/// let mut reading = Reading::new(200);
/// reading.header("RateLimit-Policy", r#""slots";q=10;qu="concurrent-requests""#);
/// reading.header("x-ratelimit-remaining-tokens", "900");
/// let answer = reading.finish(None);
/// assert_eq!(answer.of(Unit::InFlight).limit, Some(10));
/// assert_eq!(answer.of(Unit::Tokens).remaining, Some(900));
/// // Neither is a number of calls, so the hint for a pace that counts calls has neither.
/// assert_eq!((answer.hint.limit, answer.hint.remaining), (None, None));
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[non_exhaustive]
pub enum Unit {
    /// Calls.
    Requests,
    /// Tokens of a language model, in and out.
    Tokens,
    /// Tokens that went in.
    InputTokens,
    /// Tokens that came out.
    OutputTokens,
    /// Bytes of content (`qu="content-bytes"`).
    Bytes,
    /// Calls in flight (`qu="concurrent-requests"`): for a window, not for a pace.
    InFlight,
    /// Something else.
    Other,
}

impl Unit {
    /// The unit of this name in the IETF draft's registry.
    pub(super) fn of_quota(name: &[u8]) -> Self {
        match name {
            b"requests" => Self::Requests,
            // Its name before draft 10, and the one since.
            b"bytes" | b"content-bytes" => Self::Bytes,
            b"concurrent-requests" => Self::InFlight,
            b"tokens" => Self::Tokens,
            _ => Self::Other,
        }
    }
}

/// A digest of a name, by which a limit is known again without keeping the name.
///
/// It is FNV-1a in 32 bits: short, and no defence. A server that makes two of its names collide
/// has mixed up its own limits.
///
/// ```
/// use tidegate::signal::http::Name;
///
/// assert_eq!(Name::of("daily"), Name::of(b"daily"));
/// assert_ne!(Name::of("daily"), Name::of("hourly"));
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Name(u32);

impl Name {
    /// The digest of `name`.
    #[must_use]
    pub fn of(name: impl AsRef<[u8]>) -> Self {
        Self::digest(name.as_ref().iter().copied())
    }

    /// The digest of a part of a header's name, which is the same in any case.
    pub(super) fn of_header(name: &[u8]) -> Self {
        Self::digest(name.iter().map(u8::to_ascii_lowercase))
    }

    /// The digest of a quota that has no name.
    fn of_quota(count: u64, period: Span) -> Self {
        let bytes = [count.to_le_bytes(), period.as_nanos().to_le_bytes()];
        Self::digest(bytes.into_iter().flatten())
    }

    fn digest(bytes: impl Iterator<Item = u8>) -> Self {
        Self(fnv1a(bytes))
    }
}

/// One limit that a response told of.
///
/// ```
/// use tidegate::signal::http::{Name, Reading};
///
/// let mut reading = Reading::new(200);
/// reading.header("RateLimit-Policy", r#""peruser";q=100;w=60;pk=:cHsdsRa894==:"#);
/// reading.header("RateLimit", r#""peruser";r=120;t=90"#);
/// let answer = reading.finish(None);
/// let limit = answer.limits().next().unwrap();
/// assert_eq!(limit.name, Name::of("peruser"));
/// assert_eq!(limit.partition, Some(Name::of("cHsdsRa894=="))); // as it was written
/// // More left than the limit has is ignored, and the reset is cut to the period.
/// assert_eq!((limit.hint.remaining, limit.hint.reset), (None, limit.hint.period));
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Limit {
    /// What it counts.
    pub unit: Unit,
    /// What it is called: a policy's name, the part of a header's name that tells the limits of
    /// one server apart (`tokens`, `requests-day`), or `ratelimit`, `x-ratelimit`, `shopify`.
    pub name: Name,
    /// The digest of the partition key (`pk` of the IETF draft): calls with another key draw from
    /// another quota, so let each key have a controller of its own.
    pub partition: Option<Name>,
    /// What was said of it. The pause the server asked for stands in the hint of the binding limit
    /// only.
    pub hint: Hint,
}

/// A limit while its numbers come together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Draft {
    name: Name,
    unit: Option<Unit>,
    partition: Option<Name>,
    limit: Option<u64>,
    remaining: Option<u64>,
    period: Option<Span>,
    reset: Moments,
    /// A quota that has no name (`100;w=60`). It belongs to the limit of as many calls, if there
    /// is one.
    loose: bool,
}

impl Draft {
    const fn new(name: Name) -> Self {
        Self {
            name,
            unit: None,
            partition: None,
            limit: None,
            remaining: None,
            period: None,
            reset: Moments::NONE,
            loose: false,
        }
    }

    // Where a number was told twice, the more careful one counts, whichever came first.

    pub(super) fn limit(&mut self, count: u64) {
        self.limit = Some(self.limit.map_or(count, |old| old.min(count)));
    }

    pub(super) fn remaining(&mut self, count: u64) {
        self.remaining = Some(self.remaining.map_or(count, |old| old.min(count)));
    }

    pub(super) fn period(&mut self, span: Span) {
        self.period = self.period.max(Some(span));
    }

    pub(super) fn reset(&mut self, moments: Moments) {
        self.reset.add(moments);
    }

    pub(super) fn unit(&mut self, unit: Unit) {
        self.unit = Some(self.unit.map_or(unit, |old| old.min(unit)));
    }

    pub(super) fn partition(&mut self, key: Name) {
        self.partition = self.partition.max(Some(key));
    }

    /// The limit in numbers that do not contradict each other, and how many had to be ignored.
    fn settle(self, now: Option<Span>) -> (Limit, u16) {
        let mut ignored = 0u16;
        let mut check = |holds: bool| {
            ignored = ignored.saturating_add(u16::from(!holds));
            holds
        };
        let limit = self.limit.filter(|limit| check(*limit > 0));
        let most = self.limit.unwrap_or(u64::MAX);
        let remaining = self.remaining.filter(|remaining| check(*remaining <= most));
        let reset = self.reset.from(now);
        check(reset.is_some() || self.reset.is_none());
        // The period does not end later than it lasts.
        let reset = reset.map(|reset| self.period.map_or(reset, |period| reset.min(period)));
        let hint = Hint { remaining, reset, limit, period: self.period, ..Hint::NONE };
        let unit = self.unit.unwrap_or(Unit::Requests);
        (Limit { unit, name: self.name, partition: self.partition, hint }, ignored)
    }
}

/// The limits collected so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits([Option<Draft>; COLLECTED]);

impl Limits {
    pub(super) const fn new() -> Self {
        Self([None; COLLECTED])
    }

    /// The limit of this name, a new one if need be; `None` where there is no room for it.
    pub(super) fn named(&mut self, name: Name) -> Option<&mut Draft> {
        let known = self.0.iter().position(|slot| slot.is_some_and(|draft| draft.name == name));
        let slot = match known {
            Some(place) => self.0.get_mut(place),
            None => self.0.iter_mut().find(|slot| slot.is_none()),
        };
        slot.map(|slot| slot.get_or_insert(Draft::new(name)))
    }

    /// The limit that a header's name speaks of.
    pub(super) fn keyed(&mut self, key: Key) -> Option<&mut Draft> {
        let draft = self.named(key.name)?;
        draft.unit(key.unit);
        if let Some(period) = key.period {
            draft.period(period);
        }
        Some(draft)
    }

    /// A quota without a name.
    pub(super) fn loose(&mut self, count: u64, period: Span) -> Option<()> {
        let draft = self.named(Name::of_quota(count, period))?;
        draft.loose = true;
        draft.limit(count);
        draft.period(period);
        Some(())
    }

    /// The limits, the binding one first, and how many numbers had to be ignored.
    pub(super) fn settle(mut self, now: Option<Span>) -> ([Option<Limit>; TOLD], u16) {
        self.join_loose();
        let mut ignored = 0u16;
        let mut settled = self.0.map(|slot| {
            let (limit, garbage) = slot?.settle(now);
            ignored = ignored.saturating_add(garbage);
            Some(limit).filter(|limit| limit.hint != Hint::NONE)
        });
        let told = [(); TOLD].map(|()| {
            let binding = settled.iter_mut().filter(|slot| slot.is_some());
            binding.min_by(|a, b| order(a.as_ref(), b.as_ref())).and_then(Option::take)
        });
        (told, ignored)
    }

    /// Gives each quota without a name to the limits of as many calls that lack a period. Of
    /// several such quotas the longest counts, as the most careful.
    fn join_loose(&mut self) {
        let quotas = self.0;
        let mut joined = [false; COLLECTED];
        for draft in self.0.iter_mut().flatten() {
            if draft.loose || draft.period.is_some() || draft.limit.is_none() {
                continue;
            }
            let fits = |quota: &Draft| quota.loose && quota.limit == draft.limit;
            let best = quotas.iter().zip(&mut joined).filter_map(|(quota, joined)| {
                quota.filter(fits).map(|quota| (quota.period, joined))
            });
            if let Some((period, joined)) = best.max_by_key(|(period, _)| *period) {
                *joined = true;
                draft.period = period;
            }
        }
        for (slot, joined) in self.0.iter_mut().zip(joined) {
            if joined {
                *slot = None;
            }
        }
    }
}

/// Which of two limits binds a client more: used up before not used up, then the lesser share left
/// of those that tell their share, then the fewer calls left, then what tells of nothing left. The
/// rest of the order only makes it the same for any order of the headers.
fn order(a: Option<&Limit>, b: Option<&Limit>) -> Ordering {
    let (Some(a), Some(b)) = (a, b) else { return b.is_some().cmp(&a.is_some()) };
    let class = |hint: &Hint| match (hint.remaining, hint.limit) {
        (Some(0), _) => 0,
        (Some(_), Some(_)) => 1,
        (Some(_), None) => 2,
        (None, _) => 3,
    };
    let product = |left: Option<u64>, right: Option<u64>| {
        // Two halves' product always fits.
        u128::from(left.unwrap_or(0)).wrapping_mul(u128::from(right.unwrap_or(1)))
    };
    let share =
        || product(a.hint.remaining, b.hint.limit).cmp(&product(b.hint.remaining, a.hint.limit));
    let rest = |limit: &Limit| {
        let Hint { reset, limit: most, period, .. } = limit.hint;
        (Reverse(reset), limit.unit, most, Reverse(period), limit.name, limit.partition)
    };
    class(&a.hint).cmp(&class(&b.hint)).then_with(share).then_with(|| rest(a).cmp(&rest(b)))
}
