//! Bodies: JSON errors with more information than status and headers.
//!
//! With many servers, only the body distinguishes a throttled call from another error, or an
//! exhausted daily quota from a rate that is too high. A frontend asks [`is_worth`] whether to read
//! a body, passes its bytes to a [`Body`] as they arrive, and refines the result of status and
//! headers:
//!
//! ```
//! use tidegate::signal::body::{self, Body};
//! use tidegate::signal::http::Reading;
//! use tidegate::{Outcome, Reply, Span};
//!
//! let mut reading = Reading::new(403);
//! reading.header("content-type", "application/json");
//! assert!(body::is_worth(403, "application/json; charset=UTF-8"));
//!
//! let mut body = Body::new();
//! body.feed(r#"{"message":"You have exceeded a secondary "#);
//! body.feed(r#"rate limit. Please wait a few minutes before you try again."}"#);
//! reading.body(&body);
//! let reply: Reply = reading.finish(None).into();
//! assert_eq!(reply.outcome, Outcome::Throttled);
//! assert_eq!(reply.hints[0].retry_after, Some(Span::from_secs(60)));
//! ```
//!
//! # What is read
//!
//! | body | from |
//! |---|---|
//! | `error.errors[].reason`, `error.details[].reason`, `retryDelay`, `quotaId` | Google APIs, Gemini |
//! | `error.code`, `error.type` | OpenAI, Azure OpenAI, Groq, Anthropic, Stripe, Meta |
//! | `message`, `Message`, `error.message` | GitHub's secondary and primary limit, ThingsBoard, Azure's IoT Hub; a wait in words ("try again in 7m12.5s", "retry after 45 seconds"), if neither a header nor another field contains one: OpenAI, Azure OpenAI, Groq, Gemini |
//! | `parameters.retry_after` | Telegram |
//! | `errors[].extensions.code`, `errors[].type`, `extensions.cost` | GraphQL of Shopify, Linear, GitHub |
//! | `usage`, `usageMetadata` | the tokens that a call took: OpenAI, Anthropic, Gemini |
//! | `errorCode`, `__type`, `code`, `errorType`, `policyName`, `error`, `retry_after` | Salesforce, AWS, Notion, HubSpot, Slack, Discord |
//! | `type`, `violated-policies` | the problem types of the IETF draft "`RateLimit` header fields for HTTP" |
//!
//! A code counts if the status is an error; a GraphQL code counts with any status. If there are
//! several, the most severe counts: exhausted, then throttled, then busy.
//!
//! Bodies are untrusted. At most [`MOST_BYTES`] are read, in constant memory and without a copy.
//! Input that is not JSON is ignored, and a truncated body counts as far as it was read.

mod scan;
mod stated;
mod usage;
mod words;

pub use usage::{Usage, is_stream};

use scan::{CONCURRENT, DAILY, EXHAUSTED, PRIMARY, SECONDARY, Scan, TOO_LARGE, Word};
use words::{CODES, Field, PATHS, is_metas};

use super::word::Name;
use crate::hint::Hint;
use crate::outcome::{Outcome, Reply};
use crate::signal::aws;
use crate::time::Span;

/// At most this many bytes of a body are read. Errors are short, and a long body is not an error.
pub const MOST_BYTES: usize = 8_192;

/// The cooldown after GitHub's secondary limit without a stated wait: "wait for at least one
/// minute" (its documentation).
const SECONDARY_COOLDOWN: u32 = 60_000;

/// How many violated policies are kept: as many as an answer has limits.
const VIOLATED: usize = 4;

/// Whether the body of a response may say more than its status and headers: it is JSON, of an error
/// that may be a throttle. A GraphQL response is worth reading with any status. The media type
/// `application/graphql-response+json` identifies it; otherwise the caller must know.
///
/// ```
/// use tidegate::signal::body;
///
/// assert!(body::is_worth(403, "application/json"));
/// assert!(body::is_worth(429, "application/problem+json"));
/// assert!(body::is_worth(200, "application/graphql-response+json"));
/// assert!(!body::is_worth(200, "application/json"));
/// assert!(!body::is_worth(429, "text/html"));
/// ```
#[must_use]
pub fn is_worth(status: u16, content_type: impl AsRef<[u8]>) -> bool {
    let content_type = content_type.as_ref();
    let names =
        |word: &[u8]| content_type.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word));
    names(b"json") && (matches!(status, 400 | 402 | 403 | 429 | 500..=599) || names(b"graphql"))
}

/// [`is_worth`] for a response that may come from a GraphQL API. Such an API may throttle with a status of success,
/// so successful responses are read like errors.
///
/// ```
/// use tidegate::signal::body;
///
/// assert!(body::is_worth_of_graphql(200, "application/json"));
/// assert!(body::is_worth_of_graphql(429, "application/json"));
/// assert!(!body::is_worth_of_graphql(404, "application/json"));
/// assert!(!body::is_worth_of_graphql(200, "text/html"));
/// ```
#[must_use]
pub fn is_worth_of_graphql(status: u16, content_type: impl AsRef<[u8]>) -> bool {
    is_worth(if status < 300 { 400 } else { status }, content_type)
}

/// Collects the information in the body of one response.
///
/// ```
/// use tidegate::{Outcome, Reply, signal::body::Body};
///
/// let mut body = Body::new();
/// body.feed(r#"{"error":{"code":"insufficient_quota","message":"You exceeded your current quota"}}"#);
/// let reply: Reply = body.refine(429, Outcome::Throttled.into());
/// assert_eq!(reply.outcome, Outcome::Exhausted);
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Body {
    scan: Scan,
    /// The number of bytes read.
    read: u16,
    /// The most severe code of an error, and of GraphQL.
    codes: [Option<Outcome>; 2],
    /// The phrases found in messages.
    phrases: u8,
    /// The longest requested wait, in seconds and thousandths.
    delay: Option<(u32, u32)>,
    /// The longest wait that a message states, in milliseconds.
    stated: Option<u32>,
    violated: [Option<Name>; VIOLATED],
    points: [Option<u32>; 5],
    /// The tokens of the call, and the sum of its parts; zero if not reported.
    tokens: [u32; 2],
}

impl Body {
    /// An empty body.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            scan: Scan::NEW,
            read: 0,
            codes: [None; 2],
            phrases: 0,
            delay: None,
            stated: None,
            violated: [None; VIOLATED],
            points: [None; 5],
            tokens: [0; 2],
        }
    }

    /// Reads the next bytes of the body. The chunks may have any size, and bytes beyond
    /// [`MOST_BYTES`] are ignored.
    pub fn feed(&mut self, bytes: impl AsRef<[u8]>) {
        for byte in bytes.as_ref() {
            if self.has_ended() {
                return;
            }
            self.read = self.read.saturating_add(1);
            if let Some((path, word)) = self.scan.push(*byte) {
                self.value(path, &word);
            }
        }
    }

    /// Whether more bytes cannot change the result.
    #[must_use]
    pub const fn has_ended(&self) -> bool {
        self.scan.has_ended() || self.read as usize >= MOST_BYTES
    }

    fn value(&mut self, path: u32, word: &Word) {
        let Some(field) = PATHS.of_digest(path) else { return };
        let [all, parts] = &mut self.tokens;
        match field {
            Field::Code | Field::MetaCode | Field::GraphCode => {
                let mut code = CODES.of_digest(word.digest).or_else(|| aws::of_digest(word.digest));
                if field == Field::MetaCode && word.number().is_some_and(|(code, _)| is_metas(code))
                {
                    code = Some(Outcome::Throttled);
                }
                let [of_error, of_graph] = &mut self.codes;
                let slot = if field == Field::GraphCode { of_graph } else { of_error };
                if gravity(code) > gravity(*slot) {
                    *slot = code;
                }
            }
            Field::Message => {
                self.phrases |= word.phrases;
                self.stated = self.stated.max(word.stated.millis());
            }
            Field::Delay => self.delay = self.delay.max(word.number()),
            Field::Violated => {
                if let Some(free) = self.violated.iter_mut().find(|known| known.is_none()) {
                    *free = Some(Name(word.digest));
                }
            }
            Field::Point(point) => {
                if let Some(slot) = self.points.get_mut(point as usize) {
                    *slot = word.number().map(|(whole, _)| whole);
                }
            }
            Field::Tokens => *all = word.number().map_or(*all, |(whole, _)| whole),
            Field::SomeTokens => {
                *parts = parts.saturating_add(word.number().map_or(0, |(whole, _)| whole));
            }
        }
    }

    /// The outcome of the call. `None` if the status and the headers are more specific.
    #[must_use]
    pub fn outcome(&self, status: u16) -> Option<Outcome> {
        let [of_error, of_graph] = self.codes;
        let is_error = matches!(status, 400..=599);
        let mut outcome = of_graph;
        if is_error && gravity(of_error) > gravity(outcome) {
            outcome = of_error;
        }
        if is_error && self.has(SECONDARY | PRIMARY) && outcome.is_none() {
            outcome = Some(Outcome::Throttled);
        }
        match outcome {
            // Salesforce uses one code for both.
            Some(Outcome::Exhausted) if self.has(CONCURRENT) => Some(Outcome::Throttled),
            // OpenAI and Groq report a call that is larger than a whole limit as throttled. It never fits, and
            // says nothing about the rate.
            _ if is_error && self.has(TOO_LARGE) => Some(Outcome::Ok),
            // Anthropic reports it as an invalid request, Azure's IoT Hub as forbidden.
            _ if is_error && self.has(EXHAUSTED) => Some(Outcome::Exhausted),
            // Gemini reports a daily quota like one per minute.
            _ if status == 429 && self.has(DAILY) => Some(Outcome::Exhausted),
            outcome => outcome,
        }
    }

    /// Whether the limit counts calls in flight.
    pub(super) fn is_of_concurrency(&self) -> bool {
        self.has(CONCURRENT)
    }

    fn has(&self, phrases: u8) -> bool {
        self.phrases & phrases != 0
    }

    /// The wait that the server requests, if any.
    #[must_use]
    pub fn retry_after(&self) -> Option<Span> {
        self.wait(false).or(self.stated).map(|millis| Span::from_millis(millis.into()))
    }

    /// The wait that the server requests, in milliseconds. If it is `needed`, because the headers
    /// contain none, a message may state it, and there is one after GitHub's secondary limit.
    pub(super) fn wait(&self, needed: bool) -> Option<u32> {
        let told = self.delay.map(|(seconds, thousandths)| {
            seconds.saturating_mul(1_000).saturating_add(thousandths)
        });
        let least = self.stated.or(self.has(SECONDARY).then_some(SECONDARY_COOLDOWN));
        told.max(self.points_are_back_in()).or(least.filter(|_| needed))
    }

    /// The milliseconds until the bucket has the points that the call requests.
    fn points_are_back_in(&self) -> Option<u32> {
        let [_, left, rate, requested, _] = self.points;
        let missing = requested?.checked_sub(left?)?.checked_sub(1)?;
        Some(missing.checked_div(rate?)?.saturating_add(1).saturating_mul(1_000))
    }

    /// The reported cost of the call in points, or the server's estimate if it does not report the
    /// actual cost.
    pub(super) fn price(&self) -> Option<u32> {
        let [.., requested, actual] = self.points;
        actual.or(requested)
    }

    /// How many tokens of a language model the call used, input and output, as reported by the
    /// server.
    ///
    /// ```
    /// use tidegate::signal::body::Body;
    ///
    /// let mut body = Body::new();
    /// body.feed(r#"{"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":30,"total_tokens":42}}"#);
    /// assert_eq!(body.tokens(), Some(42));
    /// ```
    #[must_use]
    pub fn tokens(&self) -> Option<u32> {
        let [all, parts] = self.tokens;
        Some(all.max(parts)).filter(|tokens| *tokens > 0)
    }

    /// The server's bucket of points: how many it holds, how many are left, and the time in which it fills.
    ///
    /// ```
    /// use tidegate::signal::body::Body;
    ///
    /// let mut body = Body::new();
    /// body.feed(r#"{"data":{},"extensions":{"cost":{"requestedQueryCost":101,"actualQueryCost":46,"#);
    /// body.feed(r#""throttleStatus":{"maximumAvailable":1000,"currentlyAvailable":954,"restoreRate":50}}}}"#);
    /// assert_eq!(body.points().remaining, Some(954));
    /// ```
    #[must_use]
    pub fn points(&self) -> Hint {
        let mut hint = Hint::NONE;
        hint.limit = self.most().map(u64::from);
        hint.remaining = self.left().map(u64::from);
        hint.period = self.fills_in().map(|secs| Span::from_secs(secs.into()));
        hint
    }

    /// How many points the bucket holds.
    pub(super) fn most(&self) -> Option<u32> {
        let [most, ..] = self.points;
        most.filter(|most| *most > 0)
    }

    /// How many points are left.
    pub(super) fn left(&self) -> Option<u32> {
        let [_, left, ..] = self.points;
        left.filter(|left| self.most().is_none_or(|most| *left <= most))
    }

    /// The seconds in which the bucket fills.
    pub(super) fn fills_in(&self) -> Option<u32> {
        let [_, _, rate, ..] = self.points;
        self.most()?.checked_div(rate?).filter(|seconds| *seconds > 0)
    }

    /// The names of the violated policies.
    pub(super) fn violated(&self) -> impl Iterator<Item = Name> {
        self.violated.iter().flatten().copied()
    }

    /// The outcome and hint from status and headers, refined by the body. Limits beyond the first
    /// get the cost of the call from the body, in points or tokens.
    /// [`Reading::body`](super::http::Reading::body) does more.
    #[must_use]
    pub fn refine<const LIMITS: usize>(
        &self,
        status: u16,
        mut reply: Reply<LIMITS>,
    ) -> Reply<LIMITS> {
        if let Some(outcome) = self.outcome(status) {
            reply.outcome = outcome;
        }
        if reply.outcome == Outcome::Ok {
            let price = self.price();
            for (used, hint) in reply.used.iter_mut().zip(&mut reply.hints).skip(1) {
                *used = used.or(price).or(self.tokens());
                if price.is_some() {
                    *hint = self.points();
                }
            }
        } else {
            let is_of_concurrency = self.is_of_concurrency() && reply.outcome == Outcome::Throttled;
            for hint in &mut reply.hints {
                let told = self.wait(hint.retry_after.is_none());
                let told = told.map(|millis| Span::from_millis(millis.into()));
                hint.retry_after = hint.retry_after.max(told);
                hint.concurrency |= is_of_concurrency;
            }
        }
        reply
    }
}

impl Default for Body {
    fn default() -> Self {
        Self::new()
    }
}

/// The severity of an outcome.
const fn gravity(outcome: Option<Outcome>) -> u8 {
    match outcome {
        Some(Outcome::Busy) => 1,
        Some(Outcome::Throttled) => 2,
        Some(Outcome::Exhausted) => 3,
        _ => 0,
    }
}
