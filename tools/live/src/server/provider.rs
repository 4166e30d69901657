//! Servers that limit as real providers do, described in `providers.json`.

use super::Nanos;
use super::told::Told;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};
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

    /// What a response says after a call.
    pub const fn told<'a>(&self, limit: &'a Any, id: u64, now: SystemTime) -> Told<'a> {
        let Rule { limit: quota, period, cost, .. } = self.rule;
        Told { limit, quota, period: period * MILLIS, cost, id, now }
    }

    pub fn response(&self, served: bool, told: &Told<'_>) -> Response {
        let throttled = &self.throttled;
        let (status, body) = match served {
            true => (StatusCode::OK, &self.served),
            false => (StatusCode::from_u16(throttled.status).unwrap_or_default(), &throttled.body),
        };
        let more = (!served).then_some(&throttled.headers);
        let headers = self.headers.iter().chain(more.into_iter().flatten());
        let mut head = HeaderMap::new();
        head.insert("content-type", HeaderValue::from_static("application/json"));
        told.add(&mut head, headers.map(|(name, value)| (&**name, &**value)));
        let body = match body {
            Value::String(text) => text.clone(),
            body => told.fill(&body.to_string()),
        };
        (status, head, body).into_response()
    }

    pub fn said(&self, told: &Told<'_>) -> Option<f64> {
        told.fill(self.said.as_ref()?).parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::super::told::since_1970;
    use super::*;
    use std::time::UNIX_EPOCH;
    use tidegate::Outcome;

    /// What a call beyond the limit gets, 0.2 s after a full second.
    fn beyond(name: &str) -> (Response, Option<f64>) {
        let provider = Provider::named(name).unwrap();
        let now = UNIX_EPOCH + Duration::from_millis(1_740_994_200_200);
        let mut limit = provider.start(since_1970(now), 100);
        while limit.take(since_1970(now), provider.cost()) {}
        let told = provider.told(&limit, 7, now);
        (provider.response(false, &told), provider.said(&told))
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
        let told = provider.told(&limit, 0, UNIX_EPOCH);
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
