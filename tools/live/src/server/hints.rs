//! The rate limit headers of a response, in the formats of real servers.

use super::limiter::{Answer, Count, Standing};
use super::timeline::Nanos;
use crate::options::{Hints, PolicyName};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use httpdate::fmt_http_date;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The longest time in a header, 31 years: clients read a larger number as a date.
const LONGEST: Nanos = 999_999_999 * 1_000_000_000;

impl Hints {
    /// The status of a throttled call.
    pub fn throttled(self, policy: PolicyName) -> StatusCode {
        match (self, policy) {
            (Hints::Github, _) => StatusCode::FORBIDDEN,
            (Hints::Aws, _) => StatusCode::BAD_REQUEST,
            (_, PolicyName::Concurrency) => StatusCode::SERVICE_UNAVAILABLE,
            (_, PolicyName::Gcra | PolicyName::Window) => StatusCode::TOO_MANY_REQUESTS,
        }
    }

    /// The headers of a response at `now`. Whole seconds are rounded up, so that a caller never
    /// returns too early.
    pub fn headers(self, answer: &Answer, now: SystemTime) -> HeaderMap {
        let mut head = Head(HeaderMap::new());
        let mut standings = answer.standings.clone();
        for limit in &mut standings {
            limit.reset = limit.reset.min(LONGEST);
            limit.retry = limit.retry.min(LONGEST);
        }
        let Some(told) = binding(&standings) else { return head.0 };
        // A call waits until every limit has room.
        let retry = standings.iter().map(|limit| limit.retry).max().unwrap_or(0);
        match self {
            Hints::None => {}
            Hints::RetryAfter | Hints::RetryDate | Hints::Aws if answer.served => {}
            Hints::RetryAfter => head.set("retry-after", whole(retry)),
            Hints::RetryDate => {
                let date =
                    UNIX_EPOCH + Duration::from_secs(whole(since_1970(now).saturating_add(retry)));
                head.set("retry-after", fmt_http_date(date));
            }
            Hints::Remaining => head.set("ratelimit-remaining", told.remaining),
            Hints::Quota => head.set("ratelimit-policy", each(&standings, policy)),
            Hints::Ietf => {
                head.set("ratelimit-policy", each(&standings, policy));
                head.set("ratelimit", each(&standings, service));
            }
            Hints::Ratelimit => {
                let period = whole(told.period);
                head.set("ratelimit-policy", format!("{};w={period}", told.quota));
                head.set("ratelimit-limit", told.limit);
                head.set("ratelimit-remaining", told.remaining);
                head.set("ratelimit-reset", whole(told.reset));
            }
            Hints::Github => {
                head.set("x-ratelimit-limit", told.limit);
                head.set("x-ratelimit-remaining", told.remaining);
                let reset = since_1970(now).saturating_add(told.reset);
                head.set("x-ratelimit-reset", whole(reset));
                head.set("x-ratelimit-used", told.limit - told.remaining);
                head.set("x-ratelimit-resource", "core");
            }
            Hints::Openai => {
                for (names, limit) in openai(&standings) {
                    head.set(names[0], limit.limit);
                    head.set(names[1], limit.remaining);
                    head.set(names[2], go(limit.reset));
                }
                if !answer.served {
                    head.set("retry-after", whole(retry));
                    head.set("retry-after-ms", millis(retry));
                }
            }
            Hints::Discord => {
                head.set("x-ratelimit-limit", told.limit);
                head.set("x-ratelimit-remaining", told.remaining);
                let reset = since_1970(now).saturating_add(told.reset);
                head.set("x-ratelimit-reset", decimal(reset));
                head.set("x-ratelimit-reset-after", decimal(told.reset));
                head.set("x-ratelimit-bucket", "c0ffee");
                if !answer.served {
                    head.set("x-ratelimit-scope", "user");
                    head.set("retry-after", decimal(retry));
                }
            }
            Hints::Aws => {
                head.set("x-amzn-errortype", "ThrottlingException");
                head.set("x-amz-retry-after", millis(retry));
            }
        }
        head.0
    }
}

/// The limit to report where a family can report only one: the one with the least share left, or
/// among exhausted limits the one that stays exhausted longest.
fn binding<'a>(standings: impl IntoIterator<Item = &'a Standing>) -> Option<&'a Standing> {
    let share = |limit: &Standing| limit.remaining as f64 / limit.limit.max(1) as f64;
    standings.into_iter().min_by(|a, b| share(a).total_cmp(&share(b)).then(b.retry.cmp(&a.retry)))
}

/// The three header names for the binding limit of calls, and for that of tokens.
fn openai(standings: &[Standing]) -> impl Iterator<Item = ([&'static str; 3], &Standing)> {
    let (tokens, calls): (Vec<_>, Vec<_>) =
        standings.iter().partition(|limit| limit.count == Count::Tokens);
    let calls = binding(calls).map(|limit| (REQUESTS, limit));
    calls.into_iter().chain(binding(tokens).map(|limit| (TOKENS, limit)))
}

const REQUESTS: [&str; 3] =
    ["x-ratelimit-limit-requests", "x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"];
const TOKENS: [&str; 3] =
    ["x-ratelimit-limit-tokens", "x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"];

/// A list with one entry per named limit.
fn each(standings: &[Standing], say: fn(&Standing) -> String) -> String {
    let items = standings.iter().enumerate().map(|(index, limit)| {
        let name = match (index, limit.count) {
            (_, Count::Tokens) => "tokens",
            (0, _) => "default",
            _ => "also",
        };
        format!("\"{name}\"{}", say(limit))
    });
    items.collect::<Vec<_>>().join(", ")
}

/// The quota of a limit, as parameters of a structured field.
fn policy(limit: &Standing) -> String {
    match limit.count {
        Count::Bucket | Count::Period => format!(";q={};w={}", limit.quota, whole(limit.period)),
        Count::Tokens => {
            format!(";q={};qu=\"tokens\";w={}", limit.quota, whole(limit.period))
        }
        Count::Places => format!(";q={};qu=\"concurrent-requests\"", limit.quota),
    }
}

/// The remaining calls, likewise. Only a period has an end, because a bucket refills continuously.
fn service(limit: &Standing) -> String {
    match limit.count {
        Count::Bucket | Count::Places | Count::Tokens => format!(";r={}", limit.remaining),
        Count::Period => format!(";r={};t={}", limit.remaining, whole(limit.reset)),
    }
}

struct Head(HeaderMap);

impl Head {
    fn set(&mut self, name: &'static str, value: impl ToString) {
        // Numbers, dates and the names above are all valid in a header.
        if let Ok(value) = HeaderValue::from_str(&value.to_string()) {
            self.0.insert(HeaderName::from_static(name), value);
        }
    }
}

pub(super) fn since_1970(now: SystemTime) -> Nanos {
    super::nanos(now.duration_since(UNIX_EPOCH).unwrap_or_default())
}

pub(super) fn whole(nanos: Nanos) -> u64 {
    nanos.div_ceil(1_000_000_000)
}

pub(super) fn millis(nanos: Nanos) -> u64 {
    nanos.div_ceil(1_000_000)
}

/// Seconds with three decimals.
pub(super) fn decimal(nanos: Nanos) -> String {
    let millis = millis(nanos);
    format!("{}.{:03}", millis / 1000, millis % 1000)
}

/// A duration in Go's format: `12ms`, `7.66s`, `6m0s`.
pub(super) fn go(nanos: Nanos) -> String {
    let millis = millis(nanos);
    let (minutes, rest) = (millis / 60_000, millis % 60_000);
    let seconds = format!("{}.{:03}", rest / 1000, rest % 1000);
    let seconds = seconds.trim_end_matches('0').trim_end_matches('.');
    match (minutes, millis) {
        (0, 0) => "0s".into(),
        (0, 1..1000) => format!("{millis}ms"),
        (0, _) => format!("{seconds}s"),
        (1..60, _) => format!("{minutes}m{seconds}s"),
        _ => format!("{}h{}m{seconds}s", minutes / 60, minutes % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;
    use tidegate::signal::http::{Answer as Read, Unit};
    use tidegate::{Hint, Outcome, Span};
    use tidegate_tower::read;

    const SECOND: Nanos = 1_000_000_000;

    /// 60 calls a minute, of which 12 are left for 20.2 s.
    const PERIOD: Standing = Standing {
        count: Count::Period,
        quota: 60,
        period: 60 * SECOND,
        limit: 60,
        remaining: 12,
        reset: 20_200_000_000,
        retry: 0,
    };

    /// What a client reads from the headers of a server at a quarter past a full second.
    fn told(hints: Hints, standings: &[Standing]) -> Read {
        let now = UNIX_EPOCH + Duration::from_millis(1_740_994_200_250);
        let served = standings.iter().all(|limit| limit.retry == 0);
        let mut head = Head(hints.headers(&Answer { served, standings: standings.to_vec() }, now));
        head.set("date", fmt_http_date(now));
        let status = if served { StatusCode::OK } else { hints.throttled(PolicyName::Window) };
        let read = read(status, &head.0);
        assert_eq!(read.ignored, 0, "{hints:?}: {:?}", head.0);
        read
    }

    fn millis(millis: u64) -> Span {
        Span::from_millis(millis)
    }

    #[test]
    fn clients_understand_every_family_on_a_served_call() {
        let minute = Hint::quota(60, Span::from_secs(60));
        // The clock of the `Date` header is a quarter of a second behind.
        for (hints, hint) in [
            (Hints::None, Hint::NONE),
            (Hints::RetryAfter, Hint::NONE),
            (Hints::RetryDate, Hint::NONE),
            (Hints::Remaining, Hint::remaining(12)),
            (Hints::Quota, minute),
            (Hints::Ietf, minute.and_remaining(12).and_reset(millis(21_000))),
            (Hints::Ratelimit, minute.and_remaining(12).and_reset(millis(21_000))),
            (Hints::Github, Hint::remaining(12).and_limit(60).and_reset(millis(21_000))),
            (Hints::Openai, Hint::remaining(12).and_limit(60).and_reset(millis(20_200))),
            (Hints::Discord, Hint::remaining(12).and_limit(60).and_reset(millis(20_200))),
            (Hints::Aws, Hint::NONE),
        ] {
            let read = told(hints, &[PERIOD]);
            assert_eq!((read.outcome, read.hint), (Outcome::Ok, hint), "{hints:?}");
        }
    }

    #[test]
    fn every_family_with_hints_states_a_wait_on_a_throttled_call() {
        let spent = Standing { remaining: 0, retry: PERIOD.reset, ..PERIOD };
        for (hints, cooldown) in [
            (Hints::None, None),
            (Hints::RetryAfter, Some(21_000)),
            (Hints::RetryDate, Some(21_000)),
            (Hints::Remaining, None),
            (Hints::Quota, None),
            (Hints::Ietf, Some(21_000)),
            (Hints::Ratelimit, Some(21_000)),
            (Hints::Github, Some(21_000)),
            (Hints::Openai, Some(20_200)),
            (Hints::Discord, Some(20_200)),
            (Hints::Aws, Some(20_200)),
        ] {
            let read = told(hints, &[spent]);
            assert_eq!(read.outcome, Outcome::Throttled, "{hints:?}");
            assert_eq!(read.hint.cooldown(), cooldown.map(millis), "{hints:?}");
        }
    }

    #[test]
    fn the_draft_reports_both_limits_and_other_families_the_tighter_one() {
        let day = Standing { quota: 5_000, period: 86_400 * SECOND, limit: 5_000, ..PERIOD };
        let day = Standing { remaining: 5, reset: 3_600 * SECOND, ..day };
        let read = told(Hints::Ietf, &[PERIOD, day]);
        assert_eq!(read.limits().count(), 2);
        assert_eq!(read.named("default").remaining, Some(12));
        assert_eq!(read.named("also").period, Some(Span::from_secs(86_400)));
        for hints in [Hints::Ratelimit, Hints::Github, Hints::Openai, Hints::Discord] {
            let read = told(hints, &[PERIOD, day]);
            assert_eq!((read.hint.remaining, read.hint.limit), (Some(5), Some(5_000)), "{hints:?}");
        }
    }

    #[test]
    fn tokens_are_reported_beside_calls() {
        let tokens = Standing { count: Count::Tokens, quota: 9_000, limit: 9_000, ..PERIOD };
        let tokens = Standing { remaining: 700, retry: SECOND / 2, ..tokens };
        let hint = Hint::remaining(700).and_limit(9_000);
        let read = told(Hints::Openai, &[PERIOD, tokens]);
        let cooldown = Span::from_millis(500);
        assert_eq!(read.of(Unit::Requests).remaining, Some(12));
        let told_of = hint.and_reset(millis(20_200)).and_retry_after(cooldown);
        assert_eq!(
            read.of(Unit::Tokens),
            told_of,
            "the tokens are the tighter limit, so the cooldown is theirs"
        );
        let read = told(Hints::Ietf, &[PERIOD, tokens]);
        let minute = Hint::quota(9_000, Span::from_secs(60)).and_remaining(700);
        assert_eq!(read.of(Unit::Tokens), minute);
    }

    #[test]
    fn the_draft_reports_no_end_for_a_bucket_or_a_concurrency_limit() {
        let bucket = Standing { count: Count::Bucket, limit: 15, ..PERIOD };
        let hint = Hint::quota(60, Span::from_secs(60)).and_remaining(12);
        assert_eq!(told(Hints::Ietf, &[bucket]).hint, hint);
        let places = Standing { count: Count::Places, quota: 20, ..PERIOD };
        let read = told(Hints::Ietf, &[places]);
        assert_eq!(read.of(Unit::InFlight), Hint::remaining(12).and_limit(20));
    }

    #[test]
    fn a_reset_beyond_the_largest_time_saturates() {
        let never = Standing { reset: Nanos::MAX, retry: Nanos::MAX, remaining: 0, ..PERIOD };
        for hints in Hints::value_variants() {
            assert_eq!(told(*hints, &[never]).outcome, Outcome::Throttled, "{hints:?}");
        }
    }

    #[test]
    fn a_duration_has_the_format_of_go() {
        for (millis, text) in [
            (0, "0s"),
            (12, "12ms"),
            (1_000, "1s"),
            (7_660, "7.66s"),
            (59_999, "59.999s"),
            (360_000, "6m0s"),
            (61_050, "1m1.05s"),
            (3_600_000, "1h0m0s"),
        ] {
            assert_eq!(go(millis * 1_000_000), text);
        }
        assert_eq!(go(1), "1ms", "rounded up");
    }
}
