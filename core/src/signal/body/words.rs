//! The meanings of paths and words in error bodies. A dialect is a row here, and a body in
//! `core/tests/public/signal_bodies.txt`.

use crate::outcome::Outcome;
use crate::signal::word::Table;

/// The kind of a value.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Field {
    /// A code in [`CODES`] or of AWS. Errors only.
    Code,
    /// The same, or a numeric code of Meta.
    MetaCode,
    /// A code in [`CODES`] of a GraphQL error, with any status.
    GraphCode,
    /// A message or a name that is searched for phrases.
    Message,
    /// Seconds to wait, as a number or as `34.4s`.
    Delay,
    /// The name of a violated policy.
    Violated,
    /// A number of Shopify's bucket of points.
    Point(Point),
    /// The tokens of a language model that the call used.
    Tokens,
    /// The tokens of its input or output.
    SomeTokens,
}

/// The numbers of a bucket of points.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Point {
    Most,
    Left,
    /// Points per second.
    Rate,
    /// The maximum cost of the call.
    Requested,
    /// The actual cost.
    Actual,
}

/// The paths, without arrays.
pub(super) static PATHS: Table<Field, 37> = Table::of(&[
    // Google; OpenAI and compatible APIs; Anthropic; Stripe; Meta.
    ("error.code", Field::MetaCode),
    ("error.type", Field::Code),
    ("error.status", Field::Code),
    ("error.message", Field::Message),
    ("error.errors.reason", Field::Code),
    ("error.details.reason", Field::Code),
    ("error.details.retryDelay", Field::Delay),
    ("error.details.violations.quotaId", Field::Message),
    // OpenAI, the event `response.failed` of a stream.
    ("response.error.code", Field::Code),
    ("response.error.message", Field::Message),
    // GitHub, Discord; Notion, Mistral; AWS; Slack; HubSpot; Salesforce; problem types (RFC 9457).
    ("message", Field::Message),
    ("Message", Field::Message),
    ("code", Field::Code),
    ("Code", Field::Code),
    ("__type", Field::Code),
    ("error", Field::Code),
    ("errorType", Field::Code),
    ("policyName", Field::Code),
    ("errorCode", Field::Code),
    ("type", Field::Code),
    ("retry_after", Field::Delay),
    ("violated-policies", Field::Violated),
    // Telegram.
    ("parameters.retry_after", Field::Delay),
    // Kubernetes.
    ("details.retryAfterSeconds", Field::Delay),
    // Shopify, Linear, GitHub.
    ("errors.extensions.code", Field::GraphCode),
    ("errors.type", Field::GraphCode),
    ("extensions.cost.requestedQueryCost", Field::Point(Point::Requested)),
    ("extensions.cost.actualQueryCost", Field::Point(Point::Actual)),
    ("extensions.cost.throttleStatus.maximumAvailable", Field::Point(Point::Most)),
    ("extensions.cost.throttleStatus.currentlyAvailable", Field::Point(Point::Left)),
    ("extensions.cost.throttleStatus.restoreRate", Field::Point(Point::Rate)),
    // monday.com.
    ("errors.extensions.retry_in_seconds", Field::Delay),
    // Linear, beside its code.
    ("errors.extensions.type", Field::GraphCode),
    // OpenAI and compatible APIs; Gemini; Anthropic.
    ("usage.total_tokens", Field::Tokens),
    ("usageMetadata.totalTokenCount", Field::Tokens),
    ("usage.input_tokens", Field::SomeTokens),
    ("usage.output_tokens", Field::SomeTokens),
]);

/// Whether a number is Meta's code for a limit: of an app, a user, a page, a single call, a
/// business.
pub(super) const fn is_metas(code: u32) -> bool {
    matches!(code, 4 | 17 | 32 | 613 | 80_000..=80_014)
}

pub(super) static CODES: Table<Outcome, 26> = Table::of(&[
    // Google.
    ("userRateLimitExceeded", Outcome::Throttled),
    ("rateLimitExceeded", Outcome::Throttled),
    ("RATE_LIMIT_EXCEEDED", Outcome::Throttled),
    ("quotaExceeded", Outcome::Exhausted),
    ("dailyLimitExceeded", Outcome::Exhausted),
    // OpenAI, Mistral, Groq.
    ("rate_limit_exceeded", Outcome::Throttled),
    ("insufficient_quota", Outcome::Exhausted),
    ("billing_hard_limit_reached", Outcome::Exhausted),
    ("billing_not_active", Outcome::Exhausted),
    // Anthropic.
    ("rate_limit_error", Outcome::Throttled),
    ("overloaded_error", Outcome::Busy),
    ("billing_error", Outcome::Exhausted),
    // Shopify, monday.com, Linear, GitHub, Notion, Slack, Stripe, HubSpot, Salesforce.
    ("THROTTLED", Outcome::Throttled),
    ("COMPLEXITY_BUDGET_EXHAUSTED", Outcome::Throttled),
    ("RATELIMITED", Outcome::Throttled),
    ("RATE_LIMITED", Outcome::Throttled),
    ("rate_limited", Outcome::Throttled),
    ("ratelimited", Outcome::Throttled),
    ("rate_limit", Outcome::Throttled),
    ("RATE_LIMIT", Outcome::Throttled),
    ("RATE_LIMITS", Outcome::Throttled),
    ("DAILY", Outcome::Exhausted),
    ("REQUEST_LIMIT_EXCEEDED", Outcome::Exhausted),
    // Problem types of the IETF draft.
    ("quota-exceeded", Outcome::Throttled),
    ("temporary-reduced-capacity", Outcome::Busy),
    ("abnormal-usage-detected", Outcome::Throttled),
]);
