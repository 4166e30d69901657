//! What a server tells about its limit: the truth, nothing, or something else.

use serde::Deserialize;
use tidegate::{Hint, Instant, Outcome, Span};

use super::Limit;
use crate::chance::scaled;
use crate::scenario::units::Time;

/// How a server tells a number.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Honesty<T> {
    /// Not at all.
    #[default]
    Absent,
    /// As it is.
    Honest,
    /// The same number, whatever the truth is: a lie.
    Always(T),
    /// So many times the truth: a server with a clock or a count of its own.
    Times(f64),
}

/// What a server tells.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HintSpec {
    /// `Retry-After` on refusals, in whole seconds, rounded up.
    #[serde(default)]
    pub retry_after: Honesty<Time>,
    /// `RateLimit-Remaining` on every answer.
    #[serde(default)]
    pub remaining: Honesty<u64>,
}

impl HintSpec {
    pub(super) fn fault(&self) -> Option<&'static str> {
        let wrong = |times: f64| !(0.0..=1e6).contains(&times);
        let skewed = match (self.retry_after, self.remaining) {
            (Honesty::Times(times), _) if wrong(times) => true,
            (_, Honesty::Times(times)) => wrong(times),
            _ => false,
        };
        skewed.then_some("a skewed hint is between 0 and 1000000 times the truth")
    }

    /// The hint that comes with an outcome.
    pub fn about(&self, outcome: Outcome, limit: &dyn Limit, now: Instant) -> Hint {
        let retry_after = match self.retry_after {
            _ if outcome == Outcome::Ok => None,
            Honesty::Absent => None,
            Honesty::Honest => limit.next(now),
            Honesty::Always(time) => Some(time.span()),
            Honesty::Times(times) => limit.next(now).map(|next| scaled(next, times)),
        };
        let remaining = match self.remaining {
            Honesty::Absent => None,
            Honesty::Honest => limit.remaining(),
            Honesty::Always(count) => Some(count),
            Honesty::Times(times) => limit.remaining().map(|count| {
                scaled(Span::from_nanos(count), times).as_nanos() // rounded down, as servers do
            }),
        };
        let hint = retry_after.map_or(Hint::NONE, |span| Hint::retry_after(whole_seconds(span)));
        remaining.map_or(hint, |count| hint.and_remaining(count))
    }
}

fn whole_seconds(span: Span) -> Span {
    Span::from_secs(span.as_nanos().div_ceil(1_000_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chance::{Chance, Stream};
    use crate::server::{Window, WindowSpec};

    #[test]
    fn a_hint_is_the_truth_a_lie_or_nothing() {
        let time = |millis| Time::from(Span::from_millis(millis));
        let spec = WindowSpec { limit: 7, width: time(1_001), phase: Some(time(0)) };
        let mut chance = Chance::new(1, Stream::Server);
        let unused = Window::new(&spec, &mut chance);
        let mut used = unused.clone();
        for _ in 0..7 {
            used.arrive(Instant::ZERO, &mut chance);
        }
        let (no, ok) = (Outcome::Throttled, Outcome::Ok);
        let lie = (Honesty::Always(time(10_000)), Honesty::Always(99));
        let skew = (Honesty::Times(2.0), Honesty::Times(0.5));
        for ((retry_after, remaining), outcome, window, expected) in [
            ((Honesty::Absent, Honesty::Absent), no, &used, (None, None)),
            ((Honesty::Honest, Honesty::Honest), no, &used, (Some(2), Some(0))),
            ((Honesty::Honest, Honesty::Honest), ok, &unused, (None, Some(7))),
            (lie, no, &used, (Some(10), Some(99))),
            (lie, ok, &unused, (None, Some(99))),
            (skew, no, &used, (Some(3), Some(0))),
            (skew, ok, &unused, (None, Some(3))),
            ((Honesty::Times(0.0), Honesty::Absent), no, &used, (Some(0), None)),
        ] {
            let hint = HintSpec { retry_after, remaining }.about(outcome, window, Instant::ZERO);
            let seconds = hint.retry_after.map(|span| span.as_millis() / 1_000);
            assert_eq!((seconds, hint.remaining), expected, "{retry_after:?} {remaining:?}");
        }
    }
}
