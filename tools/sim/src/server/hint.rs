//! The hints of a server: true, false or none.

use serde::{Deserialize, Serialize};
use tidegate::{Hint, Instant, Outcome, Span};

use super::Limit;
use crate::chance::scaled;
use crate::scenario::units::Time;

/// How a server reports a number.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Honesty<T> {
    #[default]
    Absent,
    Honest,
    /// A constant regardless of the truth: a lie.
    Always(T),
    /// A multiple of the truth, as from a server with a wrong clock or count.
    Times(f64),
}

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct HintSpec {
    /// `Retry-After` on throttled calls, in whole seconds, rounded up.
    #[serde(default, skip_serializing_if = "crate::scenario::is_usual")]
    pub retry_after: Honesty<Time>,
    /// `RateLimit-Remaining` on every response.
    #[serde(default, skip_serializing_if = "crate::scenario::is_usual")]
    pub remaining: Honesty<u64>,
    /// `RateLimit-Reset` on every response.
    #[serde(default, skip_serializing_if = "crate::scenario::is_usual")]
    pub reset: Honesty<Time>,
    /// The limit and its period on every response.
    #[serde(default, skip_serializing_if = "crate::scenario::is_usual")]
    pub quota: Honesty<QuotaSpec>,
    #[serde(default, skip_serializing_if = "crate::scenario::is_usual")]
    pub reset_form: ResetForm,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ResetForm {
    /// Whole seconds from now, rounded up.
    #[default]
    Seconds,
    /// A second of the server's clock, rounded up. The client reads it with the same clock. Windows
    /// begin at its whole seconds.
    Epoch,
    /// Seconds from now with three decimals, rounded up.
    Fraction,
}

impl ResetForm {
    fn written(self, reset: Span, limit: &dyn Limit, now: Instant) -> Span {
        let up = |nanos: u64, unit: u64| nanos.div_ceil(unit) * unit;
        match self {
            Self::Seconds => whole_seconds(reset),
            Self::Fraction => Span::from_nanos(up(reset.as_nanos(), 1_000_000)),
            Self::Epoch => {
                let zero = limit.windows().map_or(0, |(_, _, first)| first.as_nanos() % SECOND);
                let since = now.as_nanos() + SECOND - zero;
                Span::from_nanos(up(since.saturating_add(reset.as_nanos()), SECOND) - since)
            }
        }
    }
}

const SECOND: u64 = 1_000_000_000;

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct QuotaSpec {
    pub limit: u64,
    pub period: Time,
}

impl<T> Honesty<T> {
    /// Reports `truth`, or the configured distortion of it. `skew` scales it.
    fn tell<U: From<T>>(self, truth: Option<U>, skew: impl FnOnce(U, f64) -> U) -> Option<U> {
        match self {
            Self::Absent => None,
            Self::Honest => truth,
            Self::Always(lie) => Some(lie.into()),
            Self::Times(times) => truth.map(|truth| skew(truth, times)),
        }
    }

    fn is_beyond_bounds(&self) -> bool {
        matches!(self, Self::Times(times) if !(0.0..=1e6).contains(times))
    }
}

impl HintSpec {
    pub(super) fn fault(&self) -> Option<&'static str> {
        let skewed = self.retry_after.is_beyond_bounds()
            || self.remaining.is_beyond_bounds()
            || self.reset.is_beyond_bounds()
            || self.quota.is_beyond_bounds();
        skewed.then_some("a skewed hint must be between 0 and 1000000 times the truth")
    }

    pub fn is_silent(&self) -> bool {
        *self == Self::default()
    }

    pub fn about(&self, outcome: Outcome, limit: &dyn Limit, now: Instant) -> Hint {
        let truth = limit.standing(now);
        let retry_after = self.retry_after.tell(truth.next, scaled);
        let quota = self.quota.tell(
            truth.quota.map(|(limit, period)| QuotaSpec { limit, period: period.into() }),
            |quota, times| QuotaSpec { limit: scaled_count(quota.limit, times), ..quota },
        );
        let mut hint = Hint::NONE;
        hint.retry_after = retry_after.filter(|_| outcome != Outcome::Ok).map(whole_seconds);
        hint.remaining = self.remaining.tell(truth.remaining, scaled_count);
        let reset = self.reset.tell(truth.reset, scaled);
        hint.reset = reset.map(|span| self.reset_form.written(span, limit, now));
        hint.limit = quota.map(|quota| quota.limit);
        hint.period = quota.map(|quota| quota.period.span());
        hint
    }
}

/// The count times `times`, rounded down, as servers do.
fn scaled_count(count: u64, times: f64) -> u64 {
    scaled(Span::from_nanos(count), times).as_nanos()
}

fn whole_seconds(span: Span) -> Span {
    Span::from_secs(span.as_nanos().div_ceil(1_000_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chance::{Chance, Stream};
    use crate::server::{Bucket, BucketSpec, Window, WindowSpec};

    #[test]
    fn a_reset_has_the_format_of_the_server() {
        let time = |millis| Time::from(Span::from_millis(millis));
        // The world starts 2.6 s into a window of 10 s, so the server's seconds end at 0.4 s, 1.4
        // s, …
        let spec =
            WindowSpec { limit: 7, width: time(10_000), phase: Some(time(2_600)), start: None };
        let window = Window::new(&spec, &mut Chance::new(1, Stream::Server));
        let bucket =
            BucketSpec { burst: 2, start: Some(0), rate: "1.6/s".parse().unwrap(), steps: vec![] };
        let bucket = Bucket::new(&bucket);
        let now = Instant::from_nanos(100_000_001);
        for (form, of_window, of_bucket) in [
            (ResetForm::Seconds, 8_000_000_000, 2_000_000_000),
            (ResetForm::Fraction, 7_300_000_000, 1_150_000_000),
            (ResetForm::Epoch, 7_299_999_999, 1_899_999_999),
        ] {
            let spec = HintSpec { reset: Honesty::Honest, reset_form: form, ..HintSpec::default() };
            let limits: [&dyn Limit; 2] = [&window, &bucket];
            let told = limits.map(|limit| spec.about(Outcome::Ok, limit, now).reset);
            let expected = [of_window, of_bucket].map(|nanos| Some(Span::from_nanos(nanos)));
            assert_eq!(told, expected, "{form:?}");
        }
    }
}
