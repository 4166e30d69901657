//! The limits that one response told of, the binding one first.

use crate::hint::Hint;
use crate::signal::word::digest;

/// How many limits an answer holds, which is how many a controller keeps.
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
    /// Tokens of a language model, in and out.
    Tokens,
    /// Tokens that went in.
    InputTokens,
    /// Tokens that came out.
    OutputTokens,
    /// Bytes of content (`qu="content-bytes"`).
    Bytes,
    /// Calls in flight (`qu="concurrent-requests"`): for a window, not for pacing.
    InFlight,
    /// Another unit.
    Other,
}

impl Unit {
    /// The greater, the earlier the unit.
    pub(super) const fn number(self) -> u8 {
        7u8.wrapping_sub(self as u8)
    }

    /// The unit of this number; calls, unless something else was told.
    pub(super) const fn of_number(number: u8) -> Self {
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

/// A digest of a name, by which a limit is known again without keeping the name.
///
/// It is FNV-1a in 32 bits: short, and no defence. A server that makes two of its names collide
/// has mixed up its own limits.
///
/// ```
/// use tidegate::signal::http::Name;
///
/// assert_eq!(Name::of("daily"), Name::of(b"daily"));
/// assert_ne!(Name::of("daily"), Name::of("hourly"));
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Name(pub(in crate::signal) u32);

impl Name {
    /// The digest of `name`.
    #[must_use]
    pub fn of(name: impl AsRef<[u8]>) -> Self {
        Self(digest(name.as_ref(), false))
    }

    /// The digest of a part of a header's name, which is the same in any case.
    pub(super) fn of_header(name: &[u8]) -> Self {
        Self(digest(name, true))
    }

    /// The digest of a name in lower case.
    pub(super) const fn known(name: &str) -> Self {
        Self(digest(name.as_bytes(), false))
    }
}

/// One limit that a response told of.
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
    /// What it counts.
    pub unit: Unit,
    /// What it is called: a policy's name, the part of a header's name that tells the limits of
    /// one server apart (`tokens`, `requests-day`), or `ratelimit`, `x-ratelimit`, `shopify`.
    pub name: Name,
    /// The digest of the partition key (`pk` of the IETF draft): calls with another key draw from
    /// another quota, so let each key have a controller of its own.
    pub partition: Option<Name>,
    /// What the call cost of it.
    pub cost: Option<u32>,
    /// What was said of it. The cooldown the server asked for stands in the hint of the binding limit
    /// only.
    pub hint: Hint,
}
