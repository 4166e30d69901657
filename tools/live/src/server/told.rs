//! The values of a limit in a response.
//!
//! In a header or body, `<limit>`, `<remaining>` and `<used>` are calls. `<size>`, `<points>`, `<quota>`, `<rate>` and
//! `<cost>` are points, of which a call takes `<cost>`. `<period>`, `<reset>`, `<wait>` and `<3000>`, a number of
//! seconds, are times, with a format: `<reset:epoch>`. `<policy>` and `<state>` are those of the IETF draft. `<id>` is the
//! number of the call. In a body, `"<=points>"` is a number.

use super::{Nanos, nanos};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tidegate_limits::Any;

const MILLI: Nanos = 1_000_000;
const SECOND: Nanos = 1_000 * MILLI;

/// The longest time in a header, 31 years: clients read a larger number as a date.
const LONGEST: Nanos = 999_999_999 * SECOND;

/// A limit after a call.
#[derive(Clone, Copy)]
pub struct Told<'a> {
    pub limit: &'a Any,
    /// Calls or points per period, or calls in flight.
    pub quota: u64,
    pub period: Nanos,
    /// The points of a call.
    pub cost: u64,
    pub id: u64,
    pub now: SystemTime,
}

impl Told<'_> {
    /// Adds these headers. Invalid ones are left out.
    pub fn add<'a>(
        &self,
        head: &mut HeaderMap,
        headers: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) {
        for (name, value) in headers {
            let value = HeaderValue::try_from(self.fill(value));
            if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), value) {
                head.insert(name, value);
            }
        }
    }

    pub fn fill(&self, text: &str) -> String {
        let (mut full, mut rest) = (String::new(), text);
        while let Some((before, (name, after))) =
            rest.split_once('<').and_then(|(before, rest)| Some((before, rest.split_once('>')?)))
        {
            let number = name.strip_prefix('=');
            full += before.strip_suffix('"').filter(|_| number.is_some()).unwrap_or(before);
            full += &self.value(number.unwrap_or(name));
            rest = after.strip_prefix('"').filter(|_| number.is_some()).unwrap_or(after);
        }
        full + rest
    }

    fn value(&self, name: &str) -> String {
        let Self { limit, quota, period, cost, id, .. } = *self;
        let count = match name {
            "quota" => quota,
            "limit" => limit.most() / cost,
            "remaining" => limit.remaining() / cost,
            "used" => limit.most() / cost - limit.remaining() / cost,
            "size" => limit.most(),
            "points" => limit.remaining(),
            "cost" => cost,
            "rate" => quota * SECOND / period,
            "id" => id,
            "policy" => return self.policy(),
            "state" => return self.state(),
            _ => return self.time(name),
        };
        count.to_string()
    }

    /// The quota as a structured field.
    fn policy(&self) -> String {
        let quota = self.quota;
        match self.limit {
            Any::Concurrency(_) => format!("\"default\";q={quota};qu=\"concurrent-requests\""),
            _ => format!("\"default\";q={quota};w={}", self.period.div_ceil(SECOND)),
        }
    }

    /// The remaining calls, likewise. Only a period has an end, because a bucket refills continuously.
    fn state(&self) -> String {
        let remaining = self.limit.remaining();
        match self.limit {
            Any::Bucket(_) | Any::Concurrency(_) => format!("\"default\";r={remaining}"),
            _ => format!("\"default\";r={remaining};t={}", self.limit.reset().div_ceil(SECOND)),
        }
    }

    /// A time in its format, rounded up, so that a caller never returns too early.
    fn time(&self, name: &str) -> String {
        let (what, format) = name.split_once(':').unwrap_or((name, "s"));
        let nanos = match what {
            "period" => self.period,
            "reset" => self.limit.reset(),
            "wait" => self.limit.retry_after(self.cost),
            seconds => seconds.parse().unwrap_or(0) * SECOND,
        };
        let nanos = nanos.min(LONGEST);
        let at = since_1970(self.now).saturating_add(nanos);
        let date = UNIX_EPOCH + Duration::from_secs(at.div_ceil(SECOND));
        match format {
            "epoch" => at.div_ceil(SECOND).to_string(),
            "epoch.3" => decimal(at),
            "http" => httpdate::fmt_http_date(date),
            "iso" => humantime::format_rfc3339_seconds(date).to_string(),
            "go" => go(nanos),
            "ms" => nanos.div_ceil(MILLI).to_string(),
            ".3" => decimal(nanos),
            _ => nanos.div_ceil(SECOND).max(1).to_string(),
        }
    }
}

pub fn since_1970(now: SystemTime) -> Nanos {
    nanos(now.duration_since(UNIX_EPOCH).unwrap_or_default())
}

/// Seconds with three decimals.
fn decimal(nanos: Nanos) -> String {
    let millis = nanos.div_ceil(MILLI);
    format!("{}.{:03}", millis / 1000, millis % 1000)
}

/// A duration in Go's format: `12ms`, `7.66s`, `6m0s`.
fn go(nanos: Nanos) -> String {
    let millis = nanos.div_ceil(MILLI);
    let minutes = millis / 60_000;
    let seconds = decimal(millis % 60_000 * MILLI);
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
            assert_eq!(go(millis * MILLI), text);
        }
        assert_eq!(go(1), "1ms", "rounded up");
    }
}
