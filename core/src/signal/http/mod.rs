//! HTTP: the status, and what the headers say about limits.
//!
//! A frontend passes the status and every header to a [`Reading`], and gets an [`Answer`]:
//!
//! ```
//! use tidegate::{Outcome, Span, signal::http};
//!
//! let headers = [
//!     ("Date", "Mon, 03 Mar 2025 09:00:00 GMT"),
//!     ("X-RateLimit-Limit", "5000"),
//!     ("X-RateLimit-Remaining", "0"),
//!     ("X-RateLimit-Reset", "1740993300"), // 09:15:00
//! ];
//! let mut reading = http::Reading::new(429);
//! for (name, value) in headers {
//!     reading.header(name, value);
//! }
//! let answer = reading.finish(None);
//! assert_eq!(answer.outcome, Outcome::Throttled);
//! assert_eq!(answer.hint.cooldown(), Some(Span::from_secs(900)));
//! ```
//!
//! If flash is limited, use [`Reading::common`] instead, which reads what most servers send.
//!
//! # What is read
//!
//! | header | from |
//! |---|---|
//! | `Retry-After`: seconds (also with a fraction), HTTP-date | RFC 9110 section 10.2.3; Shopify, Discord |
//! | `retry-after-ms`, `x-ms-retry-after-ms`, `x-amz-retry-after`: milliseconds | OpenAI, Azure, AWS |
//! | `X-RateLimit-Retry-After`, `X-Rate-Limit-Retry-After-Seconds`: seconds | MailerLite; Bucket4j |
//! | `RateLimit: "name";r=50;t=30`, `RateLimit-Policy: "name";q=100;w=60;qu="requests";pk=:…:` | the IETF draft "`RateLimit` header fields for HTTP", 08 to 11; Cloudflare, Hugging Face, `PyPI` |
//! | `RateLimit: "name";a=50;w=30;c=2` | the next draft: `c` is what the call cost |
//! | `RateLimit: limit=100, remaining=50, reset=5`, `RateLimit-Policy: 100;w=60` | its draft 07; Close |
//! | `RateLimit-Limit: 100, 100;w=60`, `RateLimit-Remaining`, `RateLimit-Reset` | its drafts 00 to 06; GitLab, Heroku, Docker Hub |
//! | `X-RateLimit-…`, `X-Rate-Limit-…` | GitHub, X, Envoy, Reddit and most others |
//! | `X-RateLimit-Reset-After` | Discord |
//! | `X-RateLimit-Limit-Requests`, `-Tokens`, `-Tokens-Minute`, `-Minute`, … | OpenAI, Groq, Cerebras, Mistral; Kong |
//! | `anthropic-ratelimit-requests-limit`, `-tokens-`, `-input-tokens-`, … | Anthropic |
//! | `x-ms-ratelimit-remaining-subscription-reads`, … | Azure Resource Manager |
//! | `X-Shopify-Shop-Api-Call-Limit: 32/40` | Shopify |
//! | `x-amzn-errortype` | AWS, see [`aws`](super::aws) |
//! | `Fastly-RateLimit-Remaining`, `-Reset` | Fastly |
//! | `ratelimitbysize-…`, `x-ratelimitbysize-…-minute`, `ratelimitbysize-query-cost` | Mistral: tokens |
//! | `X-HubSpot-RateLimit-Max`, `-Remaining`, `-Interval-Milliseconds`, `-Daily`, `-Daily-Remaining` | `HubSpot` |
//! | `Sforce-Limit-Info: api-usage=18/15000` | Salesforce |
//! | `x-app-limit-24hour-…`, `x-user-limit-24hour-…` | X |
//! | `anthropic-ratelimit-unified-5h-utilization: 0.42`, `-status: rejected` | Anthropic's plans: thousandths; rejected with 429 is [`Exhausted`](crate::Outcome::Exhausted) |
//! | `X-Complexity` | Linear: what the call cost of the limit `complexity` |
//! | `Stripe-Rate-Limited-Reason`, `Twilio-Concurrent-Requests` | Stripe, Twilio: a limit of calls in flight, see [`Hint::concurrency`](crate::Hint::concurrency) |
//! | `X-Business-Use-Case-Usage`, `X-App-Usage` | Meta: the largest percentage, and minutes as a cooldown |
//! | `Beta-RateLimit`, `Beta-RateLimit-Policy` | Atlassian |
//! | `Stripe-Should-Retry`, `x-should-retry` | Stripe, OpenAI, Anthropic: see [`Hint::no_retry`](crate::Hint::no_retry) and [`Hint::may_repeat`](crate::Hint::may_repeat) |
//! | `Date`, `Age` | RFC 9110 section 6.6.1, RFC 9111 section 5.1 |
//!
//! A reset is a number, a date in any format (RFC 3339 also without seconds), or a duration in Go's
//! format. A number is seconds from now if it is below 10^9, from there on seconds since 1970 until
//! the year 2106, and with 12 to 14 digits milliseconds since 1970. Other numbers are ignored in a
//! reset, and the longest time in a cooldown. Times are rounded up to milliseconds and dates to
//! seconds. A time is at most 49 days, a longer period is unknown, and a count is at most 2^32-2.
//! The unit of a limit follows from words in its header's name or in `qu`: tokens, bytes,
//! concurrent, requests or a period. A date is relative to the response's `Date`, because the same
//! clock produced both. Without one, it is relative to the clock of the caller; without that, it is
//! ignored.
//!
//! # Precedence
//!
//! 1. If two cooldowns differ by less than a second, the more precise one, else the longer one.
//!    Either takes precedence over a reset ([`Hint::cooldown`](crate::Hint::cooldown)).
//! 2. If a number occurs twice, the more cautious value, in any order: the lower limit, the fewer
//!    calls left, the longer delay. But a delay takes precedence over a date, which needs synchronized clocks.
//! 3. A limit of zero, and more remaining calls than the limit, are ignored. A reset beyond the
//!    period is reduced to the period.
//! 4. A `RateLimit` or `RateLimit-Policy` field with anything malformed in it is ignored as a
//!    whole, as the draft requires.
//! 5. If there are several limits, the binding one is first: an exhausted one, else the one with
//!    the smallest share left, else one without a share. If two are equal, the one with fewer
//!    calls.
//! 6. A response from a cache (`Age` above zero) says nothing about limits (draft section
//!    "Caching").
//! 7. A cooldown in a response that served the call is ignored, because it is not about the limit:
//!    Azure uses it for the polling interval.
//!
//! # What is not read
//!
//! Bodies, which [`body`](super::body) reads and a [`Reading`] accepts. Limits by endpoint
//! (`X-RateLimit-Bucket`, `x-ratelimit-resource`): the frontend chooses the keys of its
//! controllers. Counts of used calls without their limit.

mod answer;
mod dialect;
mod draft;
mod limits;
mod moment;
mod parse;
mod reading;
mod structured;

pub use answer::{Answer, Which};
pub use limits::{Limit, Unit};
pub use parse::{All, Common};
pub use reading::{Dialects, Reading};

pub use super::word::Name;

use crate::outcome::Outcome;

/// What an HTTP status says about the call.
///
/// 429 is [`Throttled`](Outcome::Throttled) (RFC 6585 section 4). 503 is [`Busy`](Outcome::Busy)
/// (RFC 9110 section 15.6.4), and so is 529, by which Anthropic and others say "overloaded". 408
/// and the other server errors are [`Failed`](Outcome::Failed): the same call may succeed later.
/// Everything else is [`Ok`](Outcome::Ok), including 501, 505 and 508: a 404 counts against the
/// limit like a 200, and a retry would not help.
///
/// ```
/// use tidegate::{Outcome, signal::http};
///
/// assert_eq!(http::outcome(200), Outcome::Ok);
/// assert_eq!(http::outcome(404), Outcome::Ok);
/// assert_eq!(http::outcome(429), Outcome::Throttled);
/// assert_eq!(http::outcome(503), Outcome::Busy);
/// assert_eq!(http::outcome(500), Outcome::Failed);
/// assert_eq!(http::outcome(501), Outcome::Ok); // not implemented, now or later
/// ```
#[must_use]
pub const fn outcome(status: u16) -> Outcome {
    match status {
        429 => Outcome::Throttled,
        503 | 529 => Outcome::Busy,
        408 => Outcome::Failed,
        // A call answered with 501, 505 or 508 would be answered the same again.
        500..=599 if !matches!(status, 501 | 505 | 508) => Outcome::Failed,
        _ => Outcome::Ok,
    }
}
