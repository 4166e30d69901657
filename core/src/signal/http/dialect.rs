//! The dialects: the names of rate limit headers and parameters.
//!
//! A dialect is a row of [`ROWS`], and a response in `core/tests/public/signal_captures.txt`.

use super::draft::Draft;
use super::limits::{Name, Unit};
use crate::signal::text::Text;
use crate::signal::word::Table;

/// The meaning of a header or a parameter. The first seven are the numbers of a limit.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Term {
    /// What the limit counts.
    Unit,
    Left,
    /// The time from now until the limit is reset.
    ResetAfter,
    Period,
    /// Never parsed: the name of the limit.
    Name,
    Limit,
    /// The reset, in the form of the [`Profile`](super::Profile).
    Reset,
    Partition,

    /// When the response was created (RFC 9110 section 6.6.1).
    Date,
    /// How long it was in a cache (RFC 9111 section 5.1).
    Age,
    /// `Retry-After`.
    Cooldown,
    /// A cooldown in seconds of any size.
    CooldownSeconds,
    /// A cooldown in milliseconds.
    CooldownMillis,
    /// `RateLimit`: the remaining calls of policies.
    Service,
    /// `RateLimit-Policy`: the quotas.
    Policy,
    /// The calls used and their limit, `32/40` or `api-usage=18/15000`.
    UsedOfLimit,
    /// An AWS error code.
    AwsError,
    /// `false` if another attempt is useless.
    ShouldRetry,
    /// The prefix of names that each stand for one number of a limit.
    Family,
    /// A period in milliseconds.
    PeriodMillis,
    /// The cost of the call.
    Cost,
    /// The used share of a limit, from 0 to 1.
    Utilization,
    /// `rejected` if a limit is exhausted.
    Status,
    /// Why a call was throttled, for example because too many are in flight.
    Reason,
    /// Meta's usage report of an app, in JSON.
    Usage,
    /// A list of counts by resource, which describes no limit that a client could know.
    ByResource,
}

/// The meaning of a header, or of headers with this prefix.
#[derive(Clone, Copy, Debug)]
struct Dialect {
    term: Term,
    /// What the limit counts by default, as in [`MASKS`].
    counts: u8,
    /// The default name of the limit.
    name: Name,
}

/// A header or the prefix of a family, its meaning, the default name of its limit, and what that
/// counts by default.
const fn row<'a>(header: &'a str, term: Term, limit: &str, counts: u8) -> (&'a str, Dialect) {
    (header, Dialect { term, counts, name: Name::known(limit) })
}

/// The dialects. The longest matching prefix counts. The first rows are the common ones.
const ROWS: &[(&str, Dialect)] = &[
    row("date", Term::Date, "call", 0),
    row("age", Term::Age, "call", 0),
    row("retry-after", Term::Cooldown, "call", 0),
    row("retry-after-ms", Term::CooldownMillis, "call", 0),
    row("ratelimit", Term::Service, "ratelimit", 0),
    row("ratelimit-policy", Term::Policy, "ratelimit", 0),
    row("ratelimit-", Term::Family, "ratelimit", 0),
    row("x-ratelimit-", Term::Family, "x-ratelimit", 0),
    row("x-rate-limit-", Term::Family, "x-ratelimit", 0),
    // Azure and its SDKs; AWS.
    row("x-ms-retry-after-ms", Term::CooldownMillis, "call", 0),
    row("x-amz-retry-after", Term::CooldownMillis, "call", 0),
    // MailerLite; Bucket4j, as spelled in its guides.
    row("x-ratelimit-retry-after", Term::CooldownSeconds, "call", 0),
    row("x-rate-limit-retry-after-seconds", Term::CooldownSeconds, "call", 0),
    row("anthropic-ratelimit-", Term::Family, "anthropic", 0),
    row("x-ms-ratelimit-", Term::Family, "x-ms", REQUESTS),
    row("x-ms-ratelimit-remaining-resource", Term::ByResource, "call", 0),
    row("x-shopify-shop-api-call-limit", Term::UsedOfLimit, "shopify", 0),
    row("x-amzn-errortype", Term::AwsError, "call", 0),
    // Salesforce; X; HubSpot, per ten seconds and per day.
    row("sforce-limit-info", Term::UsedOfLimit, "api-usage", DAILY),
    row("x-app-limit-24hour-", Term::Family, "app-limit-24hour", DAILY),
    row("x-user-limit-24hour-", Term::Family, "user-limit-24hour", DAILY),
    row("x-hubspot-ratelimit-", Term::Family, "hubspot", 0),
    row("x-hubspot-ratelimit-max", Term::Limit, "hubspot", 0),
    row("x-hubspot-ratelimit-interval-milliseconds", Term::PeriodMillis, "hubspot", 0),
    row("x-hubspot-ratelimit-daily", Term::Limit, "daily", DAILY),
    row("x-hubspot-ratelimit-daily-remaining", Term::Left, "daily", DAILY),
    // Mistral, per minute unless another period is named; Linear.
    row("ratelimitbysize-", Term::Family, "minute", TOKENS),
    row("ratelimitbysize-query-cost", Term::Cost, "minute", TOKENS),
    row("x-ratelimitbysize-", Term::Family, "minute", TOKENS),
    row("x-ratelimit-tokens-query-cost", Term::Cost, "tokens-minute", TOKENS),
    row("x-complexity", Term::Cost, "complexity", OTHER),
    // Stripe; Twilio, where this is the only reason; Meta.
    row("stripe-rate-limited-reason", Term::Reason, "call", 0),
    row("twilio-concurrent-requests", Term::Reason, "call", CONCURRENT),
    row("x-business-use-case-usage", Term::Usage, "usage", OTHER),
    row("x-app-usage", Term::Usage, "usage", OTHER),
    row("x-should-retry", Term::ShouldRetry, "call", 0),
    row("stripe-should-retry", Term::ShouldRetry, "call", 0),
    row("fastly-ratelimit-", Term::Family, "fastly", 0),
    // Atlassian.
    row("beta-ratelimit", Term::Service, "ratelimit", 0),
    row("beta-ratelimit-policy", Term::Policy, "ratelimit", 0),
];

static ALL: Table<Dialect, { ROWS.len() }> = Table::of(ROWS);
static COMMON: Table<Dialect, 9> = Table::of(ROWS.split_at(9).0);

/// The name of the call, used like a limit.
pub(super) const CALL: Name = Name::known("call");

/// The words for the numbers of a limit: those of header names and draft 07, the parameters of
/// later drafts, and those of the next draft.
const WORDS: [(&str, Term); 12] = [
    ("reset", Term::Reset),
    ("remaining", Term::Left),
    ("reset-after", Term::ResetAfter),
    ("limit", Term::Limit),
    ("t", Term::ResetAfter),
    ("r", Term::Left),
    ("w", Term::Period),
    ("q", Term::Limit),
    ("qu", Term::Unit),
    ("pk", Term::Partition),
    ("a", Term::Left),
    ("c", Term::Cost),
];

/// The words in header names, including those of Anthropic.
static NAMES: Table<Term, 6> = Table::of(&[
    WORDS[0],
    WORDS[1],
    WORDS[2],
    WORDS[3],
    ("utilization", Term::Utilization),
    ("status", Term::Status),
]);

static NUMBERS: Table<Term, 4> = Table::of(WORDS.split_at(4).0);
/// The meanings of parameters.
pub(super) static PARAMETERS: Table<Term, { WORDS.len() }> = Table::of(&WORDS);
/// The meanings of parameters in the common dialects.
pub(super) static COMMON_PARAMETERS: Table<Term, 10> = Table::of(WORDS.split_at(10).0);

/// The meaning of the header with this name. `None` if it is not about limits. What the name says
/// about a limit is recorded.
pub(super) fn term(name: &[u8], draft: &mut Draft) -> Option<Term> {
    let (dialect, rest) = ALL.longest(name)?;
    let (term, qualifier) = match dialect.term {
        Term::Family => number(rest)?,
        Term::ByResource => return None,
        term if rest.is_empty() => (term, rest),
        _ => return None,
    };
    if qualifier.is_empty() {
        draft.set_name(dialect.name);
        draft.count(&[], if dialect.counts == 0 { REQUESTS } else { dialect.counts });
    } else {
        draft.set_name(Name::of_header(qualifier));
        draft.count(qualifier, dialect.counts);
    }
    Some(term)
}

/// The meaning of the header with this name in the common dialects, and the name of its limit.
pub(super) fn common(name: &[u8]) -> Option<(Term, Name)> {
    let (dialect, rest) = COMMON.longest(name)?;
    let term = match dialect.term {
        Term::Family => NUMBERS.find(rest)?,
        term if rest.is_empty() => term,
        _ => return None,
    };
    Some((term, dialect.name))
}

/// Splits the rest of a name after its family: OpenAI has `limit-requests`, Anthropic
/// `requests-limit`, most only `limit`.
fn number(rest: &[u8]) -> Option<(Term, &[u8])> {
    match NAMES.longest(rest) {
        Some((term, [])) => return Some((term, &[])),
        Some((term, [b'-', qualifier @ ..])) => return Some((term, qualifier)),
        _ => {}
    }
    let dash = rest.iter().rposition(|byte| *byte == b'-')?;
    let (qualifier, word) = rest.split_at_checked(dash)?;
    Some((NAMES.find(word.get(1..)?)?, qualifier))
}

/// Bits for the counted unit.
const TOKENS: u8 = 1;
const INPUT: u8 = 2;
const OUTPUT: u8 = 4;
const CONCURRENT: u8 = 8;
const BYTES: u8 = 16;
const REQUESTS: u8 = 32;
const OTHER: u8 = 64;
/// Calls per day.
const DAILY: u8 = 128 | REQUESTS;

/// Prefixes of the words for units, with the seconds of a period.
static UNITS: Table<(u8, u32), 11> = Table::of(&[
    ("token", (TOKENS, 0)),
    ("input", (INPUT, 0)),
    ("output", (OUTPUT, 0)),
    ("concurrent", (CONCURRENT, 0)),
    ("bytes", (BYTES, 0)),
    ("req", (REQUESTS, 0)),
    ("month", (REQUESTS, 0)),
    ("second", (REQUESTS, 1)),
    ("minute", (REQUESTS, 60)),
    ("hour", (REQUESTS, 3_600)),
    ("day", (REQUESTS, 86_400)),
]);

/// The masks of units. The first that matches counts.
const MASKS: [(u8, Unit); 6] = [
    (TOKENS | INPUT, Unit::InputTokens),
    (TOKENS | OUTPUT, Unit::OutputTokens),
    (TOKENS, Unit::Tokens),
    (CONCURRENT, Unit::InFlight),
    (BYTES, Unit::Bytes),
    (REQUESTS, Unit::Requests),
];

/// A day in nanoseconds.
const DAY: u64 = 86_400_000_000_000;

impl Draft {
    /// Records what the limit counts, and in which period, as far as its name says: `tokens`,
    /// `requests-day`, `minute`. A period alone implies calls.
    pub(super) fn count(&mut self, name: &[u8], counts: u8) {
        let mut seen = counts;
        if counts == DAILY {
            self.tell(Term::Period, DAY);
        }
        let mut words = Text::new(name);
        loop {
            if let Some(((bit, seconds), _)) = UNITS.longest(words.letters()) {
                seen |= bit;
                if seconds > 0 {
                    self.tell(Term::Period, u64::from(seconds).wrapping_mul(1_000_000_000));
                }
            }
            if words.next() == 0 {
                break;
            }
        }
        let unit = MASKS.iter().find(|(mask, _)| seen & mask == *mask);
        let unit = unit.map_or(Unit::Other, |(_, unit)| *unit);
        self.unit = self.unit.max(unit.number());
    }
}
