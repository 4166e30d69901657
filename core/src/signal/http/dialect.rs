//! The tables of dialects: the names of rate limit headers, and how their values are read.
//!
//! A dialect is a row of [`ALL`], and a response in `core/tests/public/signal_captures.txt`.

use super::draft::{Draft, Part};
use super::parse::{
    self, All, COARSE, Common, FINE, Field, LIMITS, OTHER, Parse, REQUESTS, RESPONSE, TOKENS,
    unit_of,
};
use crate::signal::text::Text;
use crate::signal::word::{Name, Prefixes};

/// How a header is read, or headers with this prefix.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    parse: Parse,
    /// The default name of the limit.
    name: Name,
    /// What the limit counts by default, as in the masks of units.
    counts: u8,
    unit: u8,
    /// The first place for what the header says.
    place: u8,
    /// Whether more of the name follows.
    is_family: bool,
}

/// A header, or the prefix of a family, which ends with a dash; its parse function; the default name
/// of its limit, if it is about one; and what that counts by default.
const fn row<'a>(header: &'a str, parse: Parse, limit: &str, counts: u8) -> (&'a str, Row) {
    let is_family = matches!(header.as_bytes(), [.., b'-']);
    let unit = unit_of(if counts == 0 { REQUESTS } else { counts }).number();
    (header, Row { parse, name: Name::known(limit), counts, unit, place: LIMITS, is_family })
}

/// A header that is not about a limit.
const fn of_call(header: &str, parse: Parse, place: u8) -> (&str, Row) {
    let (header, row) = row(header, parse, "call", 0);
    (header, Row { place, ..row })
}

impl Row {
    /// Reads a header and records what it says. `rest` follows the prefix in its name. If any part
    /// of its value is malformed, nothing of it is kept.
    pub(super) fn read(self, rest: &[u8], drafts: &mut [Draft], ignored: &mut u16, value: &[u8]) {
        if !rest.is_empty() && !self.is_family {
            return;
        }
        let (counts, text) = (self.counts, Text::new(value));
        let mut field = Field { text, drafts, ignored, draft: Draft::NONE, counts, rest };
        field.draft.set_name(self.name);
        field.draft.set(Part::Unit, self.unit.into());
        (self.parse)(&mut field);
        if field.is_valid() {
            parse::add(field.drafts, field.ignored, self.place, &field.draft);
        }
    }
}

/// The rows of the common dialects.
const COMMON_ROWS: &[(&str, Row)] = &[
    of_call("date", parse::date::<Common>, RESPONSE),
    of_call("age", parse::age, RESPONSE),
    of_call("retry-after", parse::cooldown::<Common>, COARSE),
    of_call("retry-after-ms", parse::cooldown_millis::<Common>, FINE),
    row("ratelimit", parse::service::<Common>, "ratelimit", 0),
    row("ratelimit-policy", parse::policy::<Common>, "ratelimit", 0),
    row("ratelimit-", parse::common_family, "ratelimit", 0),
    row("x-ratelimit-", parse::common_family, "x-ratelimit", 0),
    row("x-rate-limit-", parse::common_family, "x-ratelimit", 0),
    // Not in firmware, where they take 108 bytes of flash.
    #[cfg(not(target_os = "none"))]
    of_call("x-should-retry", parse::should_retry, RESPONSE),
    #[cfg(not(target_os = "none"))]
    of_call("stripe-should-retry", parse::should_retry, RESPONSE),
];
pub(super) static COMMON: Prefixes<Row, { COMMON_ROWS.len() }> = Prefixes::of(COMMON_ROWS);

/// A limit per day.
fn daily(field: &mut Field<'_>, parse: Parse) {
    field.draft.put_time(Part::Period, 86_400_000);
    parse(field);
}

/// The rows of all dialects.
const ALL_ROWS: &[(&str, Row)] = &[
    of_call("date", parse::date::<All>, RESPONSE),
    of_call("age", parse::age, RESPONSE),
    of_call("retry-after", parse::cooldown::<All>, COARSE),
    of_call("retry-after-ms", parse::cooldown_millis::<All>, FINE),
    row("ratelimit", parse::service::<All>, "ratelimit", 0),
    row("ratelimit-policy", parse::policy::<All>, "ratelimit", 0),
    row("ratelimit-", parse::family, "ratelimit", 0),
    row("x-ratelimit-", parse::family, "x-ratelimit", 0),
    row("x-rate-limit-", parse::family, "x-ratelimit", 0),
    // Azure and its SDKs; AWS.
    of_call("x-ms-retry-after-ms", parse::cooldown_millis::<All>, FINE),
    of_call("x-amz-retry-after", parse::cooldown_millis::<All>, FINE),
    // MailerLite; Bucket4j, as spelled in its guides.
    of_call("x-ratelimit-retry-after", parse::seconds::<All>, COARSE),
    of_call("x-rate-limit-retry-after-seconds", parse::seconds::<All>, COARSE),
    row("anthropic-ratelimit-", parse::family, "anthropic", 0),
    row("x-ms-ratelimit-", parse::family, "x-ms", REQUESTS),
    // A list of counts by resource, which describes no limit that a client could know.
    of_call("x-ms-ratelimit-remaining-resource", parse::nothing, RESPONSE),
    row("x-shopify-shop-api-call-limit", parse::used_of_limit, "shopify", 0),
    of_call("x-amzn-errortype", parse::aws_error, RESPONSE),
    // Salesforce; X; HubSpot, per ten seconds and per day.
    row("sforce-limit-info", |field| daily(field, parse::used_of_limit), "api-usage", REQUESTS),
    row("x-app-limit-24hour-", |field| daily(field, parse::family), "app-limit-24hour", REQUESTS),
    row("x-user-limit-24hour-", |field| daily(field, parse::family), "user-limit-24hour", REQUESTS),
    row("x-hubspot-ratelimit-", parse::family, "hubspot", 0),
    row("x-hubspot-ratelimit-max", parse::limit::<All>, "hubspot", 0),
    row("x-hubspot-ratelimit-interval-milliseconds", parse::period_millis, "hubspot", 0),
    row("x-hubspot-ratelimit-daily", |field| daily(field, parse::limit::<All>), "daily", REQUESTS),
    row(
        "x-hubspot-ratelimit-daily-remaining",
        |field| daily(field, parse::left::<All>),
        "daily",
        REQUESTS,
    ),
    // Mistral, per minute unless another period is named; Linear.
    row("ratelimitbysize-", parse::family, "minute", TOKENS),
    row("ratelimitbysize-query-cost", parse::cost, "minute", TOKENS),
    row("x-ratelimitbysize-", parse::family, "minute", TOKENS),
    row("x-ratelimit-tokens-query-cost", parse::cost, "tokens-minute", TOKENS),
    row("x-complexity", parse::cost, "complexity", OTHER),
    // Stripe; Twilio, where this is the only reason; Meta.
    of_call("stripe-rate-limited-reason", parse::reason, RESPONSE),
    of_call("twilio-concurrent-requests", parse::any_reason, RESPONSE),
    row("x-business-use-case-usage", parse::usage, "usage", OTHER),
    row("x-app-usage", parse::usage, "usage", OTHER),
    of_call("x-should-retry", parse::should_retry, RESPONSE),
    of_call("stripe-should-retry", parse::should_retry, RESPONSE),
    row("fastly-ratelimit-", parse::family, "fastly", 0),
    // Atlassian.
    row("beta-ratelimit", parse::service::<All>, "ratelimit", 0),
    row("beta-ratelimit-policy", parse::policy::<All>, "ratelimit", 0),
];
pub(super) static ALL: Prefixes<Row, { ALL_ROWS.len() }> = Prefixes::of(ALL_ROWS);
