//! The tables of dialects: the names of rate limit headers, and how their values are read.
//!
//! A dialect is a row of [`ALL`], and a response in `core/tests/public/signal_captures.txt`.

use super::draft::{Draft, Part};
use super::limits::{Name, Unit};
use super::moment;
use super::number::Number;
use super::parse::{
    self, CONCURRENT, Call, Field, Formats, OTHER, Parse, REQUESTS, TOKENS, unit_of,
};
use crate::signal::text::Text;
use crate::signal::word::Prefixes;

/// How a header is read, or headers with this prefix.
#[derive(Clone, Copy, Debug)]
pub struct Row<N: 'static> {
    parse: Parse<N>,
    /// The default name of the limit.
    name: Name,
    /// What the limit counts by default, as in the masks of units.
    counts: u8,
    unit: Unit,
    /// Whether more of the name follows.
    is_family: bool,
}

/// A header, or the prefix of a family, which ends with a dash; its parse function; the default name
/// of its limit; and what that counts by default.
const fn row<'a, N>(
    header: &'a str,
    parse: Parse<N>,
    limit: &str,
    counts: u8,
) -> (&'a str, Row<N>) {
    let is_family = matches!(header.as_bytes(), [.., b'-']);
    let unit = unit_of(if counts == 0 { REQUESTS } else { counts });
    (header, Row { parse, name: Name::known(limit), counts, unit, is_family })
}

/// Calls the parse function of a header.
pub(super) fn read<N: Number>(
    found: Option<(Row<N>, &[u8])>,
    formats: &'static Formats<N>,
    call: &mut Call<N>,
    drafts: &mut [Draft<N>],
    value: &[u8],
) {
    let Some((row, rest)) = found else { return };
    if !rest.is_empty() && !row.is_family {
        return;
    }
    let (counts, text) = (row.counts, Text::new(value));
    let mut field = Field { call, drafts, formats, draft: Draft::NONE, counts, rest, text };
    field.draft.set_name(row.name);
    field.draft.note_unit(row.unit);
    (row.parse)(&mut field);
}

/// The rows of the common dialects.
const COMMON_ROWS: &[(&str, Row<u32>)] = &[
    row("date", parse::date, "call", 0),
    row("age", parse::age, "call", 0),
    row("retry-after", parse::cooldown, "call", 0),
    row("retry-after-ms", parse::cooldown_millis, "call", 0),
    row("ratelimit", parse::service, "ratelimit", 0),
    row("ratelimit-policy", parse::policy, "ratelimit", 0),
    row("ratelimit-", parse::common_family, "ratelimit", 0),
    row("x-ratelimit-", parse::common_family, "x-ratelimit", 0),
    row("x-rate-limit-", parse::common_family, "x-ratelimit", 0),
];
pub(super) static COMMON: Prefixes<Row<u32>, { COMMON_ROWS.len() }> = Prefixes::of(COMMON_ROWS);
pub(super) static COMMON_FORMATS: Formats<u32> =
    Formats { moment: moment::common, unit: parse::common_unit };

/// A limit per day.
fn daily(field: &mut Field<'_, u64>, parse: Parse<u64>) {
    field.draft.put(Part::Period, 86_400_000_000_000);
    parse(field);
}

/// The rows of all dialects.
const ALL_ROWS: &[(&str, Row<u64>)] = &[
    row("date", parse::date, "call", 0),
    row("age", parse::age, "call", 0),
    row("retry-after", parse::cooldown, "call", 0),
    row("retry-after-ms", parse::cooldown_millis, "call", 0),
    row("ratelimit", parse::service, "ratelimit", 0),
    row("ratelimit-policy", parse::policy, "ratelimit", 0),
    row("ratelimit-", parse::family, "ratelimit", 0),
    row("x-ratelimit-", parse::family, "x-ratelimit", 0),
    row("x-rate-limit-", parse::family, "x-ratelimit", 0),
    // Azure and its SDKs; AWS.
    row("x-ms-retry-after-ms", parse::cooldown_millis, "call", 0),
    row("x-amz-retry-after", parse::cooldown_millis, "call", 0),
    // MailerLite; Bucket4j, as spelled in its guides.
    row("x-ratelimit-retry-after", parse::cooldown_seconds, "call", 0),
    row("x-rate-limit-retry-after-seconds", parse::cooldown_seconds, "call", 0),
    row("anthropic-ratelimit-", parse::family, "anthropic", 0),
    row("x-ms-ratelimit-", parse::family, "x-ms", REQUESTS),
    // A list of counts by resource, which describes no limit that a client could know.
    row("x-ms-ratelimit-remaining-resource", parse::nothing, "call", 0),
    row("x-shopify-shop-api-call-limit", parse::used_of_limit, "shopify", 0),
    row("x-amzn-errortype", parse::aws_error, "call", 0),
    // Salesforce; X; HubSpot, per ten seconds and per day.
    row("sforce-limit-info", |field| daily(field, parse::used_of_limit), "api-usage", REQUESTS),
    row("x-app-limit-24hour-", |field| daily(field, parse::family), "app-limit-24hour", REQUESTS),
    row("x-user-limit-24hour-", |field| daily(field, parse::family), "user-limit-24hour", REQUESTS),
    row("x-hubspot-ratelimit-", parse::family, "hubspot", 0),
    row("x-hubspot-ratelimit-max", parse::limit, "hubspot", 0),
    row("x-hubspot-ratelimit-interval-milliseconds", parse::period_millis, "hubspot", 0),
    row("x-hubspot-ratelimit-daily", |field| daily(field, parse::limit), "daily", REQUESTS),
    row(
        "x-hubspot-ratelimit-daily-remaining",
        |field| daily(field, parse::left),
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
    row("stripe-rate-limited-reason", parse::reason, "call", 0),
    row("twilio-concurrent-requests", parse::reason, "call", CONCURRENT),
    row("x-business-use-case-usage", parse::usage, "usage", OTHER),
    row("x-app-usage", parse::usage, "usage", OTHER),
    row("x-should-retry", parse::should_retry, "call", 0),
    row("stripe-should-retry", parse::should_retry, "call", 0),
    row("fastly-ratelimit-", parse::family, "fastly", 0),
    // Atlassian.
    row("beta-ratelimit", parse::service, "ratelimit", 0),
    row("beta-ratelimit-policy", parse::policy, "ratelimit", 0),
];
pub(super) static ALL: Prefixes<Row<u64>, { ALL_ROWS.len() }> = Prefixes::of(ALL_ROWS);
pub(super) static ALL_FORMATS: Formats<u64> = Formats { moment: moment::any, unit: parse::unit };
