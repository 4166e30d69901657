//! The words in headers' names and values that mean something here.

use super::draft::{Draft, Part};
use super::limits::{Name, Unit};
use crate::signal::text::Text;
use crate::signal::word::{Word, find};

/// What a header is about, or a number, or a part of a name.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Term {
    /// When the response was made (RFC 9110 section 6.6.1).
    Date,
    /// How long it was in a cache (RFC 9111 section 5.1).
    Age,
    /// `Retry-After`.
    Pause,
    /// A pause in milliseconds.
    FinePause,
    /// A pause in seconds, whatever its size.
    Delay,
    /// `RateLimit`: what is left of which policy.
    Service,
    /// `RateLimit-Policy`: the quotas.
    Policy,
    /// The calls used and their limit, `32/40`.
    UsedOfLimit,
    /// An AWS error code.
    AwsError,
    /// `false` where another attempt is of no use.
    ShouldRetry,

    /// The beginnings of names that tell one number of a limit each.
    RateLimit,
    XRateLimit,
    Anthropic,
    Azure,

    /// The numbers of a limit.
    Limit,
    Remaining,
    Reset,
    /// As `Reset`, and certainly in seconds from now.
    ResetAfter,
    Window,
    Unit,
    Partition,

    /// What a limit counts, and in which period.
    Requests,
    Tokens,
    Input,
    Output,
    Bytes,
    Concurrent,
    Second,
    Minute,
    Hour,
    Day,

    /// A list of counts by resource, which says nothing of a limit that a client could know.
    ByResource,
}

/// How the headers begin that are understood; the longer ones first.
const HEADERS: [Word<Term>; 20] = [
    Word::new("date", Term::Date),
    Word::new("age", Term::Age),
    // Azure and OpenAI, with the SDKs of both and of Anthropic.
    Word::new("retry-after-ms", Term::FinePause),
    Word::new("x-ms-retry-after-ms", Term::FinePause),
    Word::new("x-amz-retry-after", Term::FinePause),
    Word::new("retry-after", Term::Pause),
    // MailerLite; Bucket4j, as its guides spell it.
    Word::new("x-ratelimit-retry-after", Term::Delay),
    Word::new("x-rate-limit-retry-after-seconds", Term::Delay),
    Word::new("ratelimit-policy", Term::Policy),
    Word::new("ratelimit-", Term::RateLimit),
    Word::new("ratelimit", Term::Service),
    Word::new("x-ratelimit-", Term::XRateLimit),
    Word::new("x-rate-limit-", Term::XRateLimit),
    Word::new("anthropic-ratelimit-", Term::Anthropic),
    Word::new("x-ms-ratelimit-remaining-resource", Term::ByResource),
    Word::new("x-ms-ratelimit-", Term::Azure),
    Word::new("x-shopify-shop-api-call-limit", Term::UsedOfLimit),
    Word::new("x-amzn-errortype", Term::AwsError),
    Word::new("x-should-retry", Term::ShouldRetry),
    Word::new("stripe-should-retry", Term::ShouldRetry),
];

/// The numbers of a limit, as headers' names and draft 07 call them.
const NUMBERS: [Word<Term>; 4] = [
    Word::new("reset-after", Term::ResetAfter),
    Word::new("reset", Term::Reset),
    Word::new("remaining", Term::Remaining),
    Word::new("limit", Term::Limit),
];

/// The parameters of the drafts since.
const PARAMETERS: [Word<Term>; 6] = [
    Word::new("pk", Term::Partition),
    Word::new("qu", Term::Unit),
    Word::new("q", Term::Limit),
    Word::new("r", Term::Remaining),
    Word::new("t", Term::Reset),
    Word::new("w", Term::Window),
];

/// How the words begin that tell of a limit what it counts, and in which period.
const UNITS: [Word<Term>; 11] = [
    Word::new("token", Term::Tokens),
    Word::new("input", Term::Input),
    Word::new("output", Term::Output),
    Word::new("bytes", Term::Bytes),
    Word::new("concurrent", Term::Concurrent),
    Word::new("req", Term::Requests),
    Word::new("month", Term::Requests),
    Word::new("second", Term::Second),
    Word::new("minute", Term::Minute),
    Word::new("hour", Term::Hour),
    Word::new("day", Term::Day),
];

/// What the header of this name is about; `None` where it is not about limits. What the name tells
/// of a limit is noted.
pub(super) fn header(name: &[u8], draft: &mut Draft) -> Option<Term> {
    let (term, rest) = find(&HEADERS, name)?;
    let bare = match term {
        Term::ByResource => return None,
        Term::XRateLimit => const { Name::known("x-ratelimit") },
        Term::Anthropic => const { Name::known("anthropic") },
        Term::Azure => const { Name::known("x-ms") },
        Term::UsedOfLimit => const { Name::known("shopify") },
        _ => const { Name::known("ratelimit") },
    };
    let (number, qualifier) = match term {
        Term::RateLimit | Term::XRateLimit | Term::Anthropic | Term::Azure => number_of(rest)?,
        _ if rest.is_empty() => (term, rest),
        _ => return None,
    };
    draft.name = if qualifier.is_empty() { bare } else { Name::of_header(qualifier) };
    draft.count(qualifier, qualifier.is_empty() || term == Term::Azure);
    Some(number)
}

/// Splits what follows a family's name: OpenAI says `limit-requests`, Anthropic `requests-limit`,
/// most no more than `limit`.
fn number_of(rest: &[u8]) -> Option<(Term, &[u8])> {
    match find(&NUMBERS, rest) {
        Some((number, [])) => return Some((number, &[])),
        Some((number, [b'-', qualifier @ ..])) => return Some((number, qualifier)),
        _ => {}
    }
    let dash = rest.iter().rposition(|byte| *byte == b'-')?;
    let (qualifier, word) = rest.split_at_checked(dash)?;
    let (number, []) = find(&NUMBERS, word.get(1..)?)? else { return None };
    Some((number, qualifier))
}

/// What a parameter of this name tells.
pub(super) fn term(key: &[u8]) -> Option<Term> {
    let known = find(&NUMBERS, key).or_else(|| find(&PARAMETERS, key));
    known.and_then(|(term, rest)| rest.is_empty().then_some(term))
}

impl Draft {
    /// Notes what the limit counts, and in which period, as far as its name tells: `tokens`,
    /// `requests-day`, `minute`. Where a period is named, calls are meant.
    pub(super) fn count(&mut self, name: &[u8], calls: bool) {
        let bit = |term| 1u32.wrapping_shl(term as u32);
        let mut seen = if calls { bit(Term::Requests) } else { 0 };
        let mut words = Text::new(name);
        loop {
            if let Some((term, _)) = find(&UNITS, words.letters()) {
                seen |= bit(term);
                let period = match term {
                    Term::Second => 1u64,
                    Term::Minute => 60,
                    Term::Hour => 3_600,
                    Term::Day => 86_400,
                    _ => 0,
                };
                if period > 0 {
                    seen |= bit(Term::Requests);
                    self.tell(Part::Period, period.wrapping_mul(1_000_000_000));
                }
            }
            if words.next() == 0 {
                break;
            }
        }
        let has = |term| seen & bit(term) != 0;
        let unit = if has(Term::Tokens) {
            if has(Term::Input) {
                Unit::InputTokens
            } else if has(Term::Output) {
                Unit::OutputTokens
            } else {
                Unit::Tokens
            }
        } else if has(Term::Concurrent) {
            Unit::InFlight
        } else if has(Term::Bytes) {
            Unit::Bytes
        } else if has(Term::Requests) {
            Unit::Requests
        } else {
            Unit::Other
        };
        self.tell_least(Part::Unit, unit as u64);
    }
}
