//! CoAP responses, from any library whose messages implement the traits of `coap-message`.

use coap_message::{MessageOption, ReadableMessage};
use tidegate::Reply;
use tidegate::signal::coap;

/// The number of the option Max-Age (RFC 7252 section 5.10).
const MAX_AGE: u16 = 14;

/// Reads a CoAP response: its code and its option Max-Age. See the core's [`coap::reply`].
///
/// ```
/// use coap_message_implementations::inmemory::Message;
/// use tidegate::{Outcome, Reply, Span};
/// use tidegate_embassy::coap;
///
/// // 4.29 Too Many Requests, with a Max-Age of 30 s, as received after the token.
/// let response = Message::new_from_slice(4 << 5 | 29, &[0xD1, 0x01, 30]);
/// let reply: Reply = coap::reply(&response);
/// assert_eq!(reply, Outcome::Throttled.with(tidegate::Hint::retry_after(Span::from_secs(30))));
/// ```
#[must_use]
pub fn reply<const LIMITS: usize>(response: &impl ReadableMessage) -> Reply<LIMITS> {
    let age = response.options().find(|option| option.number() == MAX_AGE);
    coap::reply(response.code().into(), age.and_then(|age| coap::max_age(age.value())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use coap_message_implementations::inmemory::Message;
    use tidegate::{Outcome, Span};

    fn said(code: u8, behind: &[u8]) -> (Outcome, Option<Span>) {
        let reply: Reply = reply(&Message::new_from_slice(code, behind));
        (reply.outcome, reply.hints[0].retry_after)
    }

    #[test]
    fn a_response_has_an_outcome_and_a_cooldown() {
        const BUSY: u8 = 5 << 5 | 3;
        // An option before Max-Age, Max-Age in two bytes, and a payload that looks like another
        // Max-Age.
        let behind = [0x41, 7, 0xA2, 0x01, 0x2C, 0xFF, 0xD1, 0x01, 9];
        assert_eq!(said(BUSY, &behind), (Outcome::Busy, Some(Span::from_secs(300))));
        // Without Max-Age, the default of 60 seconds (RFC 7252 section 5.10.5); a success has no
        // cooldown.
        assert_eq!(said(BUSY, &[]), (Outcome::Busy, Some(Span::from_secs(60))));
        assert_eq!(said(2 << 5 | 5, &behind), (Outcome::Ok, None));
    }
}
