//! HTTP: status codes, `Retry-After`, and the calls left.

use crate::{Outcome, Span};

/// What an HTTP status says about the call.
///
/// 429 is [`Throttled`](Outcome::Throttled) (RFC 6585 section 4) and 503 is
/// [`Busy`](Outcome::Busy) (RFC 9110 section 15.6.4). 408 and the other server errors are
/// [`Failed`](Outcome::Failed): the same call may succeed later. All else was answered, hence
/// [`Ok`](Outcome::Ok): a 404 used the limit as much as a 200 did, and sending it again would not
/// help.
///
/// ```
/// use tidegate::{Outcome, signal::http};
///
/// assert_eq!(http::outcome(200), Outcome::Ok);
/// assert_eq!(http::outcome(404), Outcome::Ok);
/// assert_eq!(http::outcome(429), Outcome::Throttled);
/// assert_eq!(http::outcome(503), Outcome::Busy);
/// assert_eq!(http::outcome(500), Outcome::Failed);
/// ```
#[must_use]
pub const fn outcome(status: u16) -> Outcome {
    match status {
        429 => Outcome::Throttled,
        503 => Outcome::Busy,
        408 | 500..=599 => Outcome::Failed,
        _ => Outcome::Ok,
    }
}

/// The delay of a `Retry-After` field in its form of delay-seconds (RFC 9110 section 10.2.3):
/// decimal digits with optional white space around them. Anything else is `None`; a number past
/// the end of time is [`Span::MAX`].
///
/// ```
/// use tidegate::{Span, signal::http};
///
/// assert_eq!(http::retry_after(b"120"), Some(Span::from_secs(120)));
/// assert_eq!(http::retry_after(b" 0 "), Some(Span::ZERO));
/// assert_eq!(http::retry_after(b"-1"), None);
/// assert_eq!(http::retry_after(b"soon"), None);
/// ```
#[must_use]
pub fn retry_after(value: &[u8]) -> Option<Span> {
    decimal(value).map(Span::from_secs)
}

/// The calls left, of a `RateLimit-Remaining` or `X-RateLimit-Remaining` field: decimal digits
/// with optional white space around them. Anything else is `None`; the number saturates.
///
/// ```
/// use tidegate::signal::http;
///
/// assert_eq!(http::remaining(b"4500"), Some(4_500));
/// assert_eq!(http::remaining(b"-1"), None);
/// ```
#[must_use]
pub fn remaining(value: &[u8]) -> Option<u64> {
    decimal(value)
}

/// A non-negative decimal integer, which saturates.
fn decimal(value: &[u8]) -> Option<u64> {
    let digits = value.trim_ascii();
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |number, byte| {
        let digit = byte.checked_sub(b'0').filter(|digit| *digit <= 9)?;
        Some(number.saturating_mul(10).saturating_add(u64::from(digit)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_an_outcome() {
        for (status, expected) in [
            (0, Outcome::Ok),
            (200, Outcome::Ok),
            (304, Outcome::Ok),
            (400, Outcome::Ok),
            (408, Outcome::Failed),
            (429, Outcome::Throttled),
            (499, Outcome::Ok),
            (500, Outcome::Failed),
            (502, Outcome::Failed),
            (503, Outcome::Busy),
            (504, Outcome::Failed),
            (599, Outcome::Failed),
            (600, Outcome::Ok),
            (u16::MAX, Outcome::Ok),
        ] {
            assert_eq!(outcome(status), expected, "status {status}");
        }
    }

    #[test]
    fn retry_after_takes_digits_and_nothing_else() {
        let cases: [(&[u8], Option<Span>); 12] = [
            (b"0", Some(Span::ZERO)),
            (b"7", Some(Span::from_secs(7))),
            (b"\t30 ", Some(Span::from_secs(30))),
            (b"0000000000000000000000012", Some(Span::from_secs(12))),
            (b"99999999999999999999999999", Some(Span::MAX)),
            (b"", None),
            (b"  ", None),
            (b"+5", None),
            (b"1.5", None),
            (b"1 2", None),
            (b"0x10", None),
            (b"\xFF\x00", None),
        ];
        for (value, expected) in cases {
            assert_eq!(retry_after(value), expected, "{:?}", value);
        }
    }
}
