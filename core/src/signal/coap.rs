//! `CoAP`: response codes, and Max-Age.

use crate::hint::Hint;
use crate::outcome::{Outcome, Reply};
use crate::time::Span;

/// The default Max-Age (RFC 7252 section 5.10.5).
const DEFAULT_MAX_AGE: Span = Span::from_secs(60);

/// What a response code and its Max-Age option say about the call. `code` is the byte of the
/// header: the class in the upper three bits, the detail in the lower five (RFC 7252 section 3).
///
/// - 4.29 too many requests is [`Throttled`](Outcome::Throttled), and Max-Age is the cooldown (RFC
///   8516).
/// - 5.03 service unavailable is [`Busy`](Outcome::Busy), and Max-Age is the cooldown (RFC 7252
///   section 5.9.3.4).
/// - Any other 5.xx is [`Failed`](Outcome::Failed).
/// - All others are [`Ok`](Outcome::Ok), because the server answered.
///
/// Without the option, Max-Age is 60 seconds.
///
/// ```
/// use tidegate::{Outcome, Reply, Span, signal::coap};
///
/// const TOO_MANY_REQUESTS: u8 = 4 << 5 | 29;
/// let reply: Reply = coap::reply(TOO_MANY_REQUESTS, Some(5));
/// assert_eq!(reply.outcome, Outcome::Throttled);
/// assert_eq!(reply.hints[0].retry_after, Some(Span::from_secs(5)));
/// let silent: Reply = coap::reply(TOO_MANY_REQUESTS, None);
/// assert_eq!(silent.hints[0].retry_after, Some(Span::from_secs(60)));
/// ```
#[must_use]
pub fn reply<const LIMITS: usize>(code: u8, max_age: Option<u32>) -> Reply<LIMITS> {
    let outcome = match (code >> 5, code & 0x1F) {
        (4, 29) => Outcome::Throttled,
        (5, 3) => Outcome::Busy,
        (5, _) => Outcome::Failed,
        _ => Outcome::Ok,
    };
    if outcome.is_pushback() {
        let cooldown = max_age.map_or(DEFAULT_MAX_AGE, |age| Span::from_secs(u64::from(age)));
        outcome.with(Hint::retry_after(cooldown))
    } else {
        outcome.into()
    }
}

/// The value of a Max-Age option as it stands in the message: an unsigned number of up to four
/// bytes, the most significant first (RFC 7252 section 3.2). `None` if it is longer.
///
/// ```
/// use tidegate::signal::coap;
///
/// assert_eq!(coap::max_age(&[]), Some(0));
/// assert_eq!(coap::max_age(&[0x01, 0x2C]), Some(300));
/// assert_eq!(coap::max_age(&[0; 5]), None);
/// ```
#[must_use]
pub fn max_age(option: &[u8]) -> Option<u32> {
    if option.len() > 4 {
        return None;
    }
    Some(option.iter().fold(0, |number, byte| number << 8 | u32::from(*byte)))
}
