//! The limits of a response, the binding one first.

use crate::hint::Hint;
use crate::signal::word::Name;

/// How many limits an answer has: as many as a controller can have.
pub(super) const TOLD: usize = 4;

/// What a limit counts.
///
/// ```
/// use tidegate::signal::http::{Reading, Unit};
///
/// let mut reading = Reading::new(200);
/// reading.header("RateLimit-Policy", r#""slots";q=10;qu="concurrent-requests""#);
/// reading.header("x-ratelimit-remaining-tokens", "900");
/// let answer = reading.finish(None);
/// assert_eq!(answer.of(Unit::InFlight).limit, Some(10));
/// assert_eq!(answer.of(Unit::Tokens).remaining, Some(900));
/// // Neither is a number of calls, so the hint for pacing that counts calls has neither.
/// assert_eq!((answer.hint.limit, answer.hint.remaining), (None, None));
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Unit {
    /// Calls.
    Requests,
    /// Tokens of a language model, input and output.
    Tokens,
    /// Input tokens.
    InputTokens,
    /// Output tokens.
    OutputTokens,
    /// Bytes of content (`qu="content-bytes"`).
    Bytes,
    /// Calls in flight (`qu="concurrent-requests"`): for a concurrency limit, not for pacing.
    InFlight,
    /// Another unit.
    Other,
}

impl Unit {
    /// A larger number precedes a smaller one.
    pub(super) const fn number(self) -> u8 {
        7u8.wrapping_sub(self as u8)
    }

    /// The unit with this number. Zero means calls.
    pub(super) const fn of_number(number: u32) -> Self {
        match number {
            6 => Self::Tokens,
            5 => Self::InputTokens,
            4 => Self::OutputTokens,
            3 => Self::Bytes,
            2 => Self::InFlight,
            1 => Self::Other,
            _ => Self::Requests,
        }
    }
}

/// A limit in a response.
///
/// ```
/// use tidegate::signal::http::{Name, Reading};
///
/// let mut reading = Reading::new(200);
/// reading.header("RateLimit-Policy", r#""peruser";q=100;w=60;pk=:cHsdsRa894==:"#);
/// reading.header("RateLimit", r#""peruser";r=120;t=90"#);
/// let answer = reading.finish(None);
/// let limit = answer.limits().next().unwrap();
/// assert_eq!(limit.name, Name::of("peruser"));
/// assert_eq!(limit.partition, Some(Name::of("cHsdsRa894=="))); // as it was written
/// // More left than the limit has is ignored, and the reset is cut to the period.
/// assert_eq!((limit.hint.remaining, limit.hint.reset), (None, limit.hint.period));
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Limit {
    /// The unit that it counts.
    pub unit: Unit,
    /// Its name: that of a policy, the part of a header's name that distinguishes a server's limits
    /// (`tokens`, `requests-day`), or `ratelimit`, `x-ratelimit`, `shopify`.
    pub name: Name,
    /// The digest of the partition key (`pk` of the IETF draft). Calls with another key use another
    /// quota, so use a controller for each key.
    pub partition: Option<Name>,
    /// The cost of the call for this limit.
    pub cost: Option<u32>,
    /// The hint of this limit. Only the hint of the binding limit has the cooldown.
    pub hint: Hint,
}
