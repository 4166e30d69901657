//! gRPC: status codes, the pushback of gRFC A6, and `google.rpc.RetryInfo`.

mod retry_info;

use super::text::digits;
use crate::hint::Hint;
use crate::outcome::{Outcome, Reply};
use crate::time::Span;

pub use retry_info::{retry_delay, retry_delay_base64};

/// Reads a gRPC status code (the codes of gRPC's `statuscodes.md`).
///
/// `RESOURCE_EXHAUSTED` (8) is [`Throttled`](Outcome::Throttled) and `UNAVAILABLE` (14), the code
/// of an overloaded server, is [`Busy`](Outcome::Busy). `CANCELLED` (1) is
/// [`Abandoned`](Outcome::Abandoned), because the client cancels. `UNKNOWN` (2),
/// `DEADLINE_EXCEEDED` (4), `INTERNAL` (13), `DATA_LOSS` (15) and unknown codes are
/// [`Failed`](Outcome::Failed). All others are [`Ok`](Outcome::Ok): a `NOT_FOUND` used the limit
/// like a success, and a retry would not help.
///
/// ```
/// use tidegate::{Outcome, signal::grpc};
///
/// assert_eq!(grpc::outcome(0), Outcome::Ok);
/// assert_eq!(grpc::outcome(5), Outcome::Ok);
/// assert_eq!(grpc::outcome(8), Outcome::Throttled);
/// assert_eq!(grpc::outcome(14), Outcome::Busy);
/// ```
#[must_use]
pub const fn outcome(code: u32) -> Outcome {
    match code {
        0 | 3 | 5..=7 | 9..=12 | 16 => Outcome::Ok,
        1 => Outcome::Abandoned,
        8 => Outcome::Throttled,
        14 => Outcome::Busy,
        2 | 4 | 13 | 15 | 17.. => Outcome::Failed,
    }
}

/// Reads the status code and message with the trailer `grpc-retry-pushback-ms` and the delay of
/// `RetryInfo` ([`retry_delay`]), if present.
///
/// gRPC libraries also report a message that is too large with `RESOURCE_EXHAUSTED`. Such a call never
/// fits and says nothing about a rate: [`Ok`](Outcome::Ok).
///
/// A number is the cooldown before the next attempt. A negative number, or anything that is not a 32-bit number in
/// ASCII, forbids another attempt ([`Hint::no_retry`]; gRFC A6, "Pushback"). The pushback is meant for this client, so
/// it takes precedence over the delay. Both are ignored for a call that was served.
///
/// ```
/// use tidegate::{Outcome, Reply, Span, signal::grpc};
///
/// let later: Reply = grpc::reply(14, b"", Some(b"1500"), None);
/// assert_eq!(later.outcome, Outcome::Busy);
/// assert_eq!(later.hints[0].retry_after, Some(Span::from_millis(1_500)));
/// let never: Reply = grpc::reply(14, b"", Some(b"-1"), Some(Span::from_secs(30)));
/// assert!(never.hints[0].no_retry);
/// let large: Reply = grpc::reply(8, b"Received message larger than max (5 vs. 4)", None, None);
/// assert_eq!(large.outcome, Outcome::Ok);
/// ```
#[must_use]
pub fn reply<const LIMITS: usize>(
    code: u32,
    message: &[u8],
    pushback: Option<&[u8]>,
    delay: Option<Span>,
) -> Reply<LIMITS> {
    let outcome = match outcome(code) {
        Outcome::Throttled if is_too_large(message) => Outcome::Ok,
        outcome => outcome,
    };
    let hint = match (pushback, delay) {
        _ if !outcome.is_retryable() => Hint::NONE,
        (Some(value), _) => match millis(value) {
            Some(millis) => Hint::retry_after(Span::from_millis(u64::from(millis))),
            None => Hint::NONE.and_no_retry(),
        },
        (None, Some(delay)) => Hint::retry_after(delay),
        (None, None) => Hint::NONE,
    };
    outcome.with(hint)
}

/// Whether the message says that a message is too large, as gRPC's libraries for C, Go, Node.js, Java and
/// .NET do.
fn is_too_large(message: &[u8]) -> bool {
    let of_size = contains(message, b"message") && contains(message, b"size");
    let exceeds = contains(message, b"larger than")
        || contains(message, b"exceeds maximum")
        || contains(message, b"exceeds the maximum");
    contains(message, b"message larger than") || of_size && exceeds
}

/// The length is part of the type, because a window of no length would panic.
fn contains<const N: usize>(message: &[u8], phrase: &[u8; N]) -> bool {
    message.windows(N).any(|part| part == phrase)
}

/// A non-negative 32-bit number.
fn millis(value: &[u8]) -> Option<u32> {
    let number = i32::try_from(digits(value)?).ok()?;
    Some(number.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_counts_without_a_pushback() {
        let delay = Span::from_secs(30);
        assert_eq!(reply::<1>(8, b"", None, Some(delay)).hints[0], Hint::retry_after(delay));
    }

    #[test]
    fn a_message_that_is_too_large_says_nothing_about_a_rate() {
        for (message, outcome) in [
            ("grpc: received message larger than max (5000000 vs. 4194304)", Outcome::Ok),
            ("trying to send message larger than max (5000000 vs. 4194304)", Outcome::Ok),
            ("Attempted to send message with a size larger than 4194304", Outcome::Ok),
            ("gRPC message exceeds maximum size 4194304: 5000000", Outcome::Ok),
            ("Received message exceeds the maximum configured message size.", Outcome::Ok),
            ("Quota exceeded for quota metric 'Read requests'", Outcome::Throttled),
            ("messages per second exceeds the maximum", Outcome::Throttled),
            ("", Outcome::Throttled),
        ] {
            assert_eq!(reply::<1>(8, message.as_bytes(), None, None).outcome, outcome, "{message}");
        }
    }
}
