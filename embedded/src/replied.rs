//! The result of a call, for a throttle.

use tidegate::signal::body::Body;
use tidegate::signal::http::Answer;
use tidegate::{AsReply, Outcome, Reply};

/// The result of a call, as a throttle needs it. [`run`](crate::Throttle::run) accepts any closure
/// whose result implements this.
///
/// ```
/// use tidegate::{Hint, Outcome, Reply, Span};
/// use tidegate_embassy::Replied;
///
/// // An outcome, with or without a hint, alone or with another value for the caller.
/// let busy: Reply = Outcome::Busy.with(Hint::retry_after(Span::from_secs(2)));
/// assert_eq!((busy, "body").reply(), busy);
/// // An error is a call that failed. A throttled call is not an error: return it as `Ok`.
/// let lost: Result<Outcome, &str> = Err("connection reset");
/// assert_eq!(lost.reply(), Reply::<1>::from(Outcome::Failed));
/// let throttled: Result<Outcome, &str> = Ok(Outcome::Throttled);
/// assert_eq!(throttled.reply(), Reply::<1>::from(Outcome::Throttled));
/// ```
///
/// With the features `reqwless` and `rust-mqtt`, the responses, reason codes and errors of these
/// clients implement it. For other clients, use the core's [`signal`](tidegate::signal):
///
/// ```
/// use tidegate::{Outcome, Reply, Span, signal::coap};
///
/// // A CoAP response: 4.29, and its Max-Age option.
/// let reply: Reply = coap::reply(4 << 5 | 29, coap::max_age(&[30]));
/// assert_eq!(reply.outcome, Outcome::Throttled);
/// assert_eq!(reply.hints[0].retry_after, Some(Span::from_secs(30)));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not contain the outcome of a call",
    label = "this is not an outcome",
    note = "return an `Outcome` or a `Reply`, a tuple of either and another value, or a `Result` of these",
    note = "an HTTP status is read by `tidegate::signal::http::outcome(status)`, status and headers by `Reading::common`",
    note = "with the features `reqwless` and `rust-mqtt`, a response, a reason code or an `MqttError` has `reply()`"
)]
pub trait Replied<const LIMITS: usize = 1> {
    /// An [`Outcome`] if results of this type have no hints, else a [`Reply`]. A program without hints does not contain
    /// the code that reads them.
    type Compact: AsReply<LIMITS> + From<Outcome> + Into<Reply<LIMITS>>;

    /// Returns the outcome, with the hints if there may be any.
    fn compact(&self) -> Self::Compact;

    /// Returns the outcome and the hints.
    fn reply(&self) -> Reply<LIMITS> {
        self.compact().into()
    }
}

/// Returns only the outcome, of a call that counts against one limit.
#[must_use]
pub fn outcome(answer: &impl Replied) -> Outcome {
    answer.reply().outcome
}

/// Refines the reply of an HTTP response with the first bytes of its body, which may report a throttle,
/// an exhausted quota or the cost of the call for a second limit in JSON; see the core's
/// [`body`](tidegate::signal::body).
///
/// ```
/// use tidegate::{Outcome, Reply};
/// use tidegate_embassy::refined;
///
/// let throttled: Reply = Outcome::Throttled.into();
/// let reply = refined(throttled, 429, br#"{"error":{"code":"insufficient_quota"}}"#);
/// assert_eq!(reply.outcome, Outcome::Exhausted);
/// ```
#[must_use]
pub fn refined<const LIMITS: usize>(
    reply: Reply<LIMITS>,
    status: u16,
    first_bytes: &[u8],
) -> Reply<LIMITS> {
    let mut body = Body::new();
    body.feed(first_bytes);
    body.refine(status, reply)
}

impl<const LIMITS: usize> Replied<LIMITS> for Outcome {
    type Compact = Self;

    fn compact(&self) -> Self {
        *self
    }
}

impl<const LIMITS: usize> Replied<LIMITS> for Reply<LIMITS> {
    type Compact = Self;

    fn compact(&self) -> Self {
        *self
    }
}

impl<R: Replied<LIMITS> + ?Sized, const LIMITS: usize> Replied<LIMITS> for &R {
    type Compact = R::Compact;

    fn compact(&self) -> R::Compact {
        (**self).compact()
    }
}

impl<const LIMITS: usize> Replied<LIMITS> for Answer {
    type Compact = Reply<LIMITS>;

    fn compact(&self) -> Reply<LIMITS> {
        (*self).into()
    }
}

/// The call was served, without hints.
impl<const LIMITS: usize> Replied<LIMITS> for () {
    type Compact = Outcome;

    fn compact(&self) -> Outcome {
        Outcome::Ok
    }
}

impl<R: Replied<LIMITS>, T, const LIMITS: usize> Replied<LIMITS> for (R, T) {
    type Compact = R::Compact;

    fn compact(&self) -> R::Compact {
        self.0.compact()
    }
}

impl<R: Replied<LIMITS>, E, const LIMITS: usize> Replied<LIMITS> for Result<R, E> {
    type Compact = R::Compact;

    fn compact(&self) -> R::Compact {
        match self {
            Ok(answer) => answer.compact(),
            Err(_) => Outcome::Failed.into(),
        }
    }
}
