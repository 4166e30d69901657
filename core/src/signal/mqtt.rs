//! MQTT: reason codes of version 5, and return codes of version 3.1.1.

use crate::outcome::Outcome;

/// What a reason code says about the packet it answers (MQTT 5.0 section 2.4): of a CONNACK, a
/// PUBACK, PUBREC, SUBACK or UNSUBACK, or of the DISCONNECT that ended the connection.
///
/// - Below 0x80 is success: [`Ok`](Outcome::Ok). The exceptions are return codes of a CONNACK of version 3.1.1, which
///   version 5 does not use: 0x03 server unavailable is [`Busy`](Outcome::Busy), and Adafruit IO's 0x06 (too many
///   connections) is [`Throttled`](Outcome::Throttled). Its codes 1, 2, 4 and 5 are final, so they are `Ok` too.
/// - 0x88 server unavailable and 0x89 server busy are [`Busy`](Outcome::Busy).
/// - 0x93 receive maximum exceeded, 0x96 message rate too high, 0x97 quota exceeded and 0x9F
///   connection rate exceeded are [`Throttled`](Outcome::Throttled).
/// - 0x80 unspecified error, 0x83 implementation specific error, 0x8B server shutting down and
///   0x8D keep alive timeout are [`Failed`](Outcome::Failed).
/// - All others are [`Ok`](Outcome::Ok): the server answered, and would reject the same packet
///   again.
///
/// MQTT codes have no delay. The policy's backoff and law apply.
///
/// ```
/// use tidegate::{Outcome, signal::mqtt};
///
/// assert_eq!(mqtt::outcome(0x00), Outcome::Ok);
/// assert_eq!(mqtt::outcome(0x97), Outcome::Throttled);
/// assert_eq!(mqtt::outcome(0x89), Outcome::Busy);
/// assert_eq!(mqtt::outcome(0x87), Outcome::Ok); // not authorized: no better next time
/// ```
#[must_use]
pub const fn outcome(reason: u8) -> Outcome {
    match reason {
        0x03 | 0x88 | 0x89 => Outcome::Busy,
        0x06 | 0x93 | 0x96 | 0x97 | 0x9F => Outcome::Throttled,
        0x80 | 0x83 | 0x8B | 0x8D => Outcome::Failed,
        _ => Outcome::Ok,
    }
}
