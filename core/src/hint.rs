//! What a server says about its limit.

use crate::time::Span;

/// What a server said about its limit, in plain numbers.
///
/// Servers are untrusted: a hint is a wish, which [`gate::HoldPolicy`](crate::gate::HoldPolicy)
/// clamps to the policy's own ceiling.
///
/// ```
/// use tidegate::{Hint, Span};
///
/// assert_eq!(Hint::NONE.retry_after, None);
/// let hint = Hint::retry_after(Span::from_secs(1)).and_remaining(0);
/// assert_eq!((hint.retry_after, hint.remaining), (Some(Span::from_secs(1)), Some(0)));
/// ```
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Hint {
    /// How long to wait before the next call (`Retry-After`, RFC 9110 section 10.2.3).
    pub retry_after: Option<Span>,
    /// How many calls are left (`RateLimit-Remaining` and its like).
    pub remaining: Option<u64>,
}

impl Hint {
    /// The server said nothing.
    pub const NONE: Self = Self { retry_after: None, remaining: None };

    /// "Try again after `span`."
    #[must_use]
    pub const fn retry_after(span: Span) -> Self {
        Self { retry_after: Some(span), ..Self::NONE }
    }

    /// "`count` calls are left."
    #[must_use]
    pub const fn remaining(count: u64) -> Self {
        Self { remaining: Some(count), ..Self::NONE }
    }

    /// The same hint, with the number of calls that are left.
    #[must_use]
    pub const fn and_remaining(self, count: u64) -> Self {
        Self { remaining: Some(count), ..self }
    }
}
