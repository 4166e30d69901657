//! Which header says what.

use super::limits::{Name, Unit};
use crate::time::Span;

/// What a header that is understood here is about.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Field {
    /// When the response was made (RFC 9110 section 6.6.1).
    Date,
    /// How long it was in a cache (RFC 9111 section 5.1).
    Age,
    /// `Retry-After`.
    Pause,
    /// A delay in plain numbers of this unit.
    PauseOf(Span),
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
    /// One number of a limit.
    Part(Part, Key),
}

/// Which number of a limit.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Part {
    Limit,
    Remaining,
    Reset,
    /// As `Reset`, and certainly in seconds from now.
    ResetAfter,
}

/// Which limit, and what its name tells of it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Key {
    pub(super) name: Name,
    pub(super) unit: Unit,
    pub(super) period: Option<Span>,
}

/// The headers that are understood by their whole name.
const WHOLE: [(&[u8], Field); 14] = [
    (b"date", Field::Date),
    (b"age", Field::Age),
    (b"retry-after", Field::Pause),
    // Azure and OpenAI, with the SDKs of both and of Anthropic.
    (b"retry-after-ms", Field::PauseOf(Span::from_millis(1))),
    (b"x-ms-retry-after-ms", Field::PauseOf(Span::from_millis(1))),
    (b"x-amz-retry-after", Field::PauseOf(Span::from_millis(1))),
    // MailerLite; Bucket4j, as its guides spell it.
    (b"x-ratelimit-retry-after", Field::PauseOf(Span::from_secs(1))),
    (b"x-rate-limit-retry-after-seconds", Field::PauseOf(Span::from_secs(1))),
    (b"ratelimit", Field::Service),
    (b"ratelimit-policy", Field::Policy),
    (b"x-shopify-shop-api-call-limit", Field::UsedOfLimit),
    (b"x-amzn-errortype", Field::AwsError),
    (b"x-should-retry", Field::ShouldRetry),
    (b"stripe-should-retry", Field::ShouldRetry),
];

/// How the names of the others begin, and what a limit is called that has no name of its own.
const FAMILIES: [(&[u8], &[u8]); 5] = [
    (b"ratelimit-", b"ratelimit"),
    (b"x-ratelimit-", b"x-ratelimit"),
    (b"x-rate-limit-", b"x-ratelimit"),
    (b"anthropic-ratelimit-", b"anthropic"),
    (b"x-ms-ratelimit-", b"x-ms"),
];

const PARTS: [(&[u8], Part); 4] = [
    (b"reset-after", Part::ResetAfter),
    (b"reset", Part::Reset),
    (b"limit", Part::Limit),
    (b"remaining", Part::Remaining),
];

impl Field {
    /// The field of this name, in any case; `None` where it is not about limits.
    pub(super) fn of(name: &[u8]) -> Option<Self> {
        let whole = WHOLE.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        whole.map(|(_, field)| *field).or_else(|| Self::of_family(name))
    }

    fn of_family(name: &[u8]) -> Option<Self> {
        let (rest, bare) =
            FAMILIES.iter().find_map(|(start, bare)| Some((after(name, start)?, *bare)))?;
        // A list of counts by resource, which says nothing of a limit that a client could know.
        if bare == b"x-ms" && rest.eq_ignore_ascii_case(b"remaining-resource") {
            return None;
        }
        PARTS.iter().find_map(|(word, part)| {
            let qualifier = if rest.eq_ignore_ascii_case(word) {
                bare
            } else {
                // OpenAI says `limit-requests`, Anthropic `requests-limit`.
                after(rest, word)
                    .and_then(|rest| rest.strip_prefix(b"-"))
                    .or_else(|| before(rest, word).and_then(|rest| rest.strip_suffix(b"-")))?
            };
            Some(Self::Part(*part, Key::of(qualifier, qualifier == bare || bare == b"x-ms")))
        })
    }
}

impl Key {
    /// The key of the limit that headers call `qualifier`: `tokens`, `requests-day`, `minute`.
    fn of(qualifier: &[u8], counts_calls: bool) -> Self {
        let any = |starts: &[&[u8]]| {
            let mut words = qualifier.split(|byte| matches!(byte, b'-' | b'_'));
            words.any(|word| starts.iter().any(|start| after(word, start).is_some()))
        };
        let period =
            [(b"second".as_slice(), 1), (b"minute", 60), (b"hour", 3_600), (b"day", 86_400)];
        let period = period.into_iter().find(|(word, _)| any(&[word]));
        let unit = if any(&[b"token"]) {
            match (any(&[b"input"]), any(&[b"output"])) {
                (true, _) => Unit::InputTokens,
                (_, true) => Unit::OutputTokens,
                _ => Unit::Tokens,
            }
        } else if counts_calls || period.is_some() || any(&[b"req", b"month"]) {
            Unit::Requests
        } else {
            Unit::Other
        };
        Self {
            name: Name::of_header(qualifier),
            unit,
            period: period.map(|(_, seconds)| Span::from_secs(seconds)),
        }
    }

    /// The limit of the plain triple, `RateLimit-Limit`, `-Remaining` and `-Reset`.
    pub(super) fn plain() -> Self {
        Self::of(b"ratelimit", true)
    }

    /// Shopify's limit of calls.
    pub(super) fn shopify() -> Self {
        Self::of(b"shopify", true)
    }
}

/// What follows `start`, in any case.
fn after<'a>(name: &'a [u8], start: &[u8]) -> Option<&'a [u8]> {
    let (head, rest) = name.split_at_checked(start.len())?;
    head.eq_ignore_ascii_case(start).then_some(rest)
}

/// What goes before `end`, in any case.
fn before<'a>(name: &'a [u8], end: &[u8]) -> Option<&'a [u8]> {
    let (rest, tail) = name.split_at_checked(name.len().checked_sub(end.len())?)?;
    tail.eq_ignore_ascii_case(end).then_some(rest)
}
