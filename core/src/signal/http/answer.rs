//! What one response says, put together.

use super::limits::{Limit, Name, TOLD, Unit};
use crate::hint::Hint;
use crate::outcome::{Outcome, Reply};

/// What a response says: what became of the call, and what the server said of its limits.
///
/// It converts into a [`Reply`], so `settle(now, permit, answer)` will do.
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
#[non_exhaustive]
pub struct Answer {
    /// What became of the call.
    pub outcome: Outcome,
    /// What the server said to a client that counts calls: the pause, and the binding one of the
    /// limits of calls. Limits that count something else are in [`limits`](Self::limits).
    pub hint: Hint,
    pub(super) limits: [Option<Limit>; TOLD],
    /// How many headers were about limits but of no use: malformed, contradictory, a date without
    /// a clock, or a limit more than there is room for.
    pub ignored: u16,
}

impl Answer {
    /// The limits that the response told of, the binding one first; the first four if there were
    /// more.
    pub fn limits(&self) -> impl Iterator<Item = &Limit> {
        self.limits.iter().flatten()
    }

    /// What was said of the binding one of the limits that count `unit`s.
    #[must_use]
    pub fn of(&self, unit: Unit) -> Hint {
        let found = self.limits().find(|limit| limit.unit == unit);
        found.map_or(Hint::NONE, |limit| limit.hint)
    }

    /// What was said of the limit of this name: the policy's, or as [`Limit::name`] tells.
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
        let name = Name::of(name);
        let found = self.limits().find(|limit| limit.name == name);
        found.map_or(Hint::NONE, |limit| limit.hint)
    }
}

impl<const LIMITS: usize> From<Answer> for Reply<LIMITS> {
    fn from(answer: Answer) -> Self {
        answer.outcome.with(answer.hint)
    }
}
