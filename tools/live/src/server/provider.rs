//! Servers that limit as real providers do, described in `providers.json`.
//!
//! In its headers and bodies, `<limit>`, `<remaining>` and `<used>` are calls. `<size>`, `<points>`, `<rate>` and
//! `<cost>` are points, of which a call takes `<cost>`. `<reset>`, `<wait>` and `<3000>`, a number of seconds, are
//! times, with a format: `<reset:epoch>`. `<id>` is the number of the call. In a body, `"<=points>"` is a number.

use super::hints::{decimal, go, millis, since_1970, whole};
use super::timeline::Nanos;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tidegate_limits::{Any, Bucket, Concurrency, Limit, Sliding, Window};

const MILLIS: Nanos = 1_000_000;
const SECOND: Nanos = 1_000 * MILLIS;

/// The elapsed hundredths of a window that others have exhausted.
const OVER: u64 = 40;

/// A provider: its limit, and its responses. Other fields are for the bench.
#[derive(Clone, Debug, Deserialize)]
pub struct Provider {
    pub name: String,
    /// How many times shorter than documented its period is.
    scale: u64,
    rule: Rule,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    served: Value,
    throttled: Throttled,
    /// The milliseconds that a response to a throttled call asks to wait.
    said: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
struct Throttled {
    status: u16,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    body: Value,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct Rule {
    kind: Kind,
    /// Calls in each period or in flight, or points that a bucket regains in each period.
    limit: u64,
    /// Milliseconds. With a concurrency limit, how long a served call takes.
    #[serde(alias = "lasts")]
    period: u64,
    #[serde(default)]
    size: u64,
    #[serde(default = "one")]
    cost: u64,
    /// A window begins with the first call, or here with that call's second.
    #[serde(default)]
    seconds: bool,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Bucket,
    Window,
    Sliding,
    Concurrency,
}

const fn one() -> u64 {
    1
}

pub struct Told<'a> {
    pub provider: &'a Provider,
    pub limit: &'a Any,
    pub id: u64,
    pub now: SystemTime,
}

impl Provider {
    pub fn named(name: &str) -> Option<Self> {
        Self::all().into_iter().find(|provider| provider.name == name)
    }

    pub fn all() -> Vec<Self> {
        // A test parses it.
        serde_json::from_str(include_str!("../../providers.json")).unwrap_or_default()
    }

    /// A plan a hundred times as large, with the provider's own period.
    pub fn large(mut self) -> Self {
        if self.lasts().is_none() {
            self.rule.size *= 100;
            self.rule.limit *= 100;
            self.rule.period *= self.scale;
        }
        self
    }

    pub const fn cost(&self) -> u64 {
        self.rule.cost
    }

    /// The limit at its first call, with this share of it left, in hundredths.
    pub fn start(&self, now: Nanos, left: u64) -> Any {
        let Rule { kind, limit, size, seconds, .. } = self.rule;
        let (period, others) = (self.rule.period * MILLIS, (limit * (100 - left) + 50) / 100);
        let over = if left == 0 { OVER * period / 100 } else { 0 };
        match kind {
            Kind::Bucket => {
                Any::Bucket(Bucket::new(limit, period, size).holding(size * left / 100, now))
            }
            Kind::Window => {
                let begins = if seconds { now / SECOND * SECOND } else { now } - over;
                let window = Window::new(limit, period).at_phase(period - begins % period);
                Any::Window(window.having_used(others, now))
            }
            Kind::Sliding => {
                let mut window = Sliding::new(limit, period);
                window.take(now - over, others);
                Any::Sliding(window)
            }
            Kind::Concurrency => {
                let mut places = Concurrency::new(limit, period);
                places.take(now, others);
                Any::Concurrency(places)
            }
        }
    }

    /// How long a served call takes, if the provider says so.
    pub fn lasts(&self) -> Option<Duration> {
        let lasts = self.rule.kind == Kind::Concurrency;
        lasts.then_some(Duration::from_millis(self.rule.period))
    }
}

impl Told<'_> {
    pub fn response(&self, served: bool) -> Response {
        let throttled = &self.provider.throttled;
        let (status, body) = match served {
            true => (StatusCode::OK, &self.provider.served),
            false => (StatusCode::from_u16(throttled.status).unwrap_or_default(), &throttled.body),
        };
        let more = (!served).then_some(&throttled.headers);
        let mut head = HeaderMap::new();
        head.insert("content-type", HeaderValue::from_static("application/json"));
        for (name, value) in self.provider.headers.iter().chain(more.into_iter().flatten()) {
            let value = HeaderValue::try_from(self.fill(value));
            if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), value) {
                head.insert(name, value);
            }
        }
        let body = match body {
            Value::String(text) => text.clone(),
            body => self.fill(&body.to_string()),
        };
        (status, head, body).into_response()
    }

    /// The milliseconds that a response to a throttled call asks to wait.
    pub fn said(&self) -> Option<f64> {
        self.fill(self.provider.said.as_ref()?).parse().ok()
    }

    fn fill(&self, text: &str) -> String {
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
        let (limit, cost) = (self.limit, self.provider.cost());
        let count = match name {
            "limit" => limit.most() / cost,
            "remaining" => limit.remaining() / cost,
            "used" => limit.most() / cost - limit.remaining() / cost,
            "size" => limit.most(),
            "points" => limit.remaining(),
            "cost" => cost,
            "rate" => self.provider.rule.limit * 1_000 / self.provider.rule.period,
            "id" => self.id,
            _ => return self.time(name),
        };
        count.to_string()
    }

    fn time(&self, name: &str) -> String {
        let (what, format) = name.split_once(':').unwrap_or((name, "s"));
        let nanos = match what {
            "reset" => self.limit.reset(),
            "wait" => self.limit.retry_after(self.provider.cost()),
            seconds => seconds.parse().unwrap_or(0) * SECOND,
        };
        let at = since_1970(self.now).saturating_add(nanos);
        let date = UNIX_EPOCH + Duration::from_secs(whole(at));
        match format {
            "epoch" => whole(at).to_string(),
            "epoch.3" => decimal(at),
            "http" => httpdate::fmt_http_date(date),
            "iso" => humantime::format_rfc3339_seconds(date).to_string(),
            "go" => go(nanos),
            "ms" => millis(nanos).to_string(),
            ".3" => decimal(nanos),
            _ => whole(nanos).max(1).to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate::Outcome;

    /// What a call beyond the limit gets, 0.2 s after a full second.
    fn beyond(name: &str) -> (Response, Option<f64>) {
        let provider = Provider::named(name).unwrap();
        let now = UNIX_EPOCH + Duration::from_millis(1_740_994_200_200);
        let mut limit = provider.start(since_1970(now), 100);
        while limit.take(since_1970(now), provider.cost()) {}
        let told = Told { provider: &provider, limit: &limit, id: 7, now };
        (told.response(false), told.said())
    }

    #[test]
    fn every_value_of_a_provider_is_filled_in() {
        let (response, said) = beyond("GitLab");
        assert_eq!((response.status().as_u16(), said), (429, Some(6_000.0)));
        let head = response.headers();
        for (name, value) in [
            ("ratelimit-limit", "60"),
            ("ratelimit-observed", "60"),
            ("ratelimit-remaining", "0"),
            ("ratelimit-reset", "1740994206"),
            ("retry-after", "6"),
            ("ratelimit-resettime", "Mon, 03 Mar 2025 09:30:06 GMT"),
            ("content-type", "text/plain"),
        ] {
            assert_eq!(head[name], value, "{name}");
        }
        let reset = &beyond("Anthropic").0.headers()["anthropic-ratelimit-requests-reset"].clone();
        assert_eq!(reset, "2025-03-03T09:30:07Z");
    }

    #[test]
    fn a_number_in_a_body_has_no_quotes() {
        let provider = Provider::named("Shopify GraphQL").unwrap();
        let limit = provider.start(0, 100);
        let told = Told { provider: &provider, limit: &limit, id: 0, now: UNIX_EPOCH };
        let text = told.fill(&provider.served.to_string());
        assert!(text.contains(r#""currentlyAvailable":2000"#), "{text}");
        assert!(text.contains(r#""restoreRate":100"#), "{text}");
    }

    #[test]
    fn a_client_understands_that_every_provider_throttles_it() {
        assert_eq!(Provider::all().len(), 21);
        for provider in Provider::all() {
            let (response, _) = beyond(&provider.name);
            let read = tidegate_tower::read(response.status(), response.headers());
            // One says it in the body, and one is busy.
            let expected = match response.status().as_u16() {
                200 => Outcome::Ok,
                503 => Outcome::Busy,
                // These may also mean something else. A body says which.
                400 | 403 => continue,
                _ => Outcome::Throttled,
            };
            assert_eq!(read.outcome, expected, "{}", provider.name);
        }
    }

    #[test]
    fn a_limit_that_others_have_used_up_opens_at_its_time() {
        for (name, wait) in [
            ("GitHub, secondary", 3_600),
            ("Google Calendar", 3_600),
            ("Stripe", 40),
            ("concurrency limit", 100),
        ] {
            let provider = Provider::named(name).unwrap();
            let mut limit = provider.start(9 * SECOND, 0);
            assert!(!limit.fits(9 * SECOND, provider.cost()), "{name}");
            assert_eq!(limit.retry_after(provider.cost()), wait * MILLIS, "{name}");
        }
        let large = Provider::named("Slack, tier 3").unwrap().large().start(0, 99);
        assert_eq!((large.most(), large.remaining(), large.reset()), (5_000, 4_950, 60 * SECOND));
    }
}
