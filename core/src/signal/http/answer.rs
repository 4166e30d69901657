//! The result of reading a response.

use super::draft::{Draft, Part};
use super::limits::{Limit, TOLD, Unit};
use crate::hint::Hint;
use crate::outcome::{AsReply, Outcome, Reply};
use crate::signal::word::Name;

/// What a response says: the outcome of the call, and the server's limits.
///
/// It converts into a [`Reply`], so `settle(now, permit, answer)` works. If a controller has several limits, the
/// first counts calls, and the others what else the server counts (tokens, points); [`about`](Self::about) chooses
/// other limits.
///
/// ```
/// use tidegate::{Outcome, signal::http::{Reading, Unit}};
///
/// let mut reading = Reading::new(200);
/// reading.header("x-ratelimit-limit-requests", "5000");
/// reading.header("x-ratelimit-remaining-requests", "4999");
/// reading.header("x-ratelimit-limit-tokens", "160000");
/// reading.header("x-ratelimit-remaining-tokens", "1600");
/// reading.header("x-ratelimit-reset-tokens", "6m0s");
/// let answer = reading.finish(None);
/// assert_eq!(answer.outcome, Outcome::Ok);
/// assert_eq!(answer.hint.remaining, Some(4_999)); // of what a call costs one of
/// assert_eq!(answer.of(Unit::Tokens).remaining, Some(1_600));
/// assert_eq!(answer.limits().next().unwrap().unit, Unit::Tokens); // these run out first
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Answer {
    /// The outcome of the call.
    pub outcome: Outcome,
    /// What the server said to a client that counts calls: the cooldown, and the binding one of the
    /// limits of calls. Limits that count something else are in [`limits`](Self::limits).
    pub hint: Hint,
    pub(super) limits: [Draft; TOLD],
    /// Number of ignored values about limits: malformed headers, contradictory numbers, dates
    /// without a clock, and limits beyond the fourth.
    pub ignored: u16,
}

impl Answer {
    /// An answer without information.
    pub(super) const NOTHING: Self =
        Self { outcome: Outcome::Ok, hint: Hint::NONE, limits: [Draft::NONE; TOLD], ignored: 0 };

    /// The limits in the response, the binding one first. At most four.
    pub fn limits(&self) -> impl Iterator<Item = Limit> {
        let mut cooldown = self.hint.retry_after;
        let told = self.limits.iter().filter(|draft| draft.has(Part::Rank));
        told.map(move |draft| draft.limit(cooldown.take()))
    }

    /// The reply for a controller with several limits: the server's hint for each, and what a served
    /// call cost of each if the server reports it.
    ///
    /// ```
    /// use tidegate::signal::http::{Name, Reading, Unit};
    /// use tidegate::{Reply, Span};
    ///
    /// let mut reading = Reading::new(200);
    /// reading.header("x-ratelimit-remaining-requests", "59");
    /// reading.header("x-ratelimit-remaining-tokens", "149984");
    /// let reply: Reply<2> = reading.finish(None).about([Unit::Requests, Unit::Tokens]);
    /// assert_eq!(reply.hints.map(|hint| hint.remaining), [Some(59), Some(149_984)]);
    ///
    /// let mut reading = Reading::new(200);
    /// reading.header("RateLimit-Policy", r#""second";q=10;w=1, "day";q=1000;w=86400"#);
    /// reading.header("RateLimit", r#""second";r=4;t=1, "day";r=900;t=3600"#);
    /// let reply: Reply<2> = reading.finish(None).about(["second", "day"].map(Name::of));
    /// assert_eq!(reply.hints[1].period, Some(Span::from_secs(86_400)));
    ///
    /// let mut reading = Reading::new(200);
    /// reading.header("x-ratelimitbysize-remaining-minute", "499968");
    /// reading.header("ratelimitbysize-query-cost", "32");
    /// let reply: Reply<2> = reading.finish(None).about([Unit::Requests, Unit::Tokens]);
    /// assert_eq!(reply.used, [None, Some(32)]);
    /// ```
    #[must_use]
    pub fn about<const LIMITS: usize>(&self, limits: [impl Into<Which>; LIMITS]) -> Reply<LIMITS> {
        let limits = limits.map(Into::into);
        let hints = limits.map(|which| {
            let hint = match which {
                Which::Counting(unit) => self.of(unit),
                Which::Named(name) => self.of_name(name),
            };
            let Hint { retry_after, no_retry, may_repeat, concurrency, .. } = self.hint;
            Hint { retry_after, no_retry, may_repeat, concurrency, ..hint }
        });
        let used = match self.outcome {
            Outcome::Ok => limits.map(|which: Which| self.cost_of(which)),
            _ => [None; LIMITS],
        };
        Reply { used, ..Reply::about(self.outcome, hints) }
    }

    /// The cost that the server reports for a limit, if any.
    #[must_use]
    pub fn cost_of(&self, limit: impl Into<Which>) -> Option<u32> {
        let which = limit.into();
        let mut told = self.limits.iter().filter(|limit| match which {
            Which::Counting(unit) => limit.unit() == unit,
            Which::Named(name) => limit.name() == name,
        });
        told.find_map(Draft::cost)
    }

    /// The unit in which the server counts the cost of calls, other than calls: tokens, or for
    /// example the points of GraphQL.
    fn priced(&self) -> Unit {
        let mut units = self.limits.iter().filter_map(|limit| match limit.unit() {
            Unit::Requests => None,
            Unit::Tokens => Some(Unit::Tokens),
            unit => limit.cost().map(|_| unit),
        });
        units.next().unwrap_or(Unit::Tokens)
    }

    /// The hint of the binding limit that counts `unit`s.
    #[must_use]
    pub fn of(&self, unit: Unit) -> Hint {
        // That of calls may not be among the most binding limits.
        if unit == Unit::Requests {
            return self.hint;
        }
        let found = self.limits().find(|limit| limit.unit == unit);
        found.map_or(Hint::NONE, |limit| limit.hint)
    }

    /// The hint of the limit with this name: see [`Limit::name`].
    ///
    /// ```
    /// use tidegate::{Span, signal::http::Reading};
    ///
    /// let mut reading = Reading::new(200);
    /// reading.header("RateLimit-Policy", r#""second";q=10;w=1, "day";q=1000;w=86400"#);
    /// reading.header("RateLimit", r#""second";r=4;t=1, "day";r=900;t=3600"#);
    /// let answer = reading.finish(None);
    /// assert_eq!(answer.named("day").remaining, Some(900));
    /// assert_eq!(answer.hint.period, Some(Span::from_secs(1))); // less of it is left
    /// ```
    #[must_use]
    pub fn named(&self, name: impl AsRef<[u8]>) -> Hint {
        self.of_name(Name::of(name))
    }

    fn of_name(&self, name: Name) -> Hint {
        let found = self.limits().find(|limit| limit.name == name);
        found.map_or(Hint::NONE, |limit| limit.hint)
    }
}

/// How to select one of a server's limits.
///
/// ```
/// use tidegate::signal::http::{Name, Unit, Which};
///
/// assert_eq!(Which::from(Unit::Tokens), Which::Counting(Unit::Tokens));
/// assert_eq!(Which::from(Name::of("day")), Which::Named(Name::of("day")));
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Which {
    /// The binding one of those that count this.
    Counting(Unit),
    /// The limit with this name, as in [`Limit::name`].
    Named(Name),
}

impl From<Unit> for Which {
    fn from(unit: Unit) -> Self {
        Self::Counting(unit)
    }
}

impl From<Name> for Which {
    fn from(name: Name) -> Self {
        Self::Named(name)
    }
}

impl<const LIMITS: usize> AsReply<LIMITS> for Answer {
    fn with_reply<R>(&self, act: impl FnOnce(&Reply<LIMITS>) -> R) -> R {
        act(&(*self).into())
    }
}

/// The first limit counts calls. Others count in what else the server reports the cost of calls: tokens, or for example
/// the points of GraphQL.
///
/// ```
/// use tidegate::Reply;
/// use tidegate::signal::http::Reading;
///
/// let mut reading = Reading::new(200);
/// reading.header("x-complexity", "12");
/// reading.header("x-ratelimit-complexity-remaining", "249988");
/// let reply: Reply<2> = reading.finish(None).into();
/// assert_eq!((reply.hints[1].remaining, reply.used[1]), (Some(249_988), Some(12)));
/// ```
impl<const LIMITS: usize> From<Answer> for Reply<LIMITS> {
    fn from(answer: Answer) -> Self {
        if LIMITS == 1 {
            return answer.outcome.with(answer.hint);
        }
        let mut units = [answer.priced(); LIMITS];
        if let Some(first) = units.first_mut() {
            *first = Unit::Requests;
        }
        answer.about(units)
    }
}
