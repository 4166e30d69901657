//! Why a call was not sent, or was given up.

use embassy_time::Instant;
use tidegate::Reason;

use crate::time::{self, Slept};

/// Why a call will not be sent, or was given up; waiting would not help it.
///
/// ```
/// use tidegate_embassy::Rejection;
///
/// assert_eq!(Rejection::QueueFull.to_string(), "the queue is full: give the throttle more places, or make fewer calls");
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Rejection {
    /// Its deadline is too early: it could be sent at this instant, or later if other calls wait before it.
    Late(Instant),
    /// The deadline of [`done_by`](crate::Call::done_by) passed while it was in flight. The server
    /// may have served it.
    GivenUp,
    /// The queue is full: `WAITERS` tasks wait already, or an urgent call has taken this call's place. Only
    /// first attempts of priority 0 are rejected for this; others wait without a place. Make fewer
    /// calls, or give the throttle more places.
    QueueFull,
    /// The law's limit for this second is used up, and it rejects further calls.
    OverLimit,
    /// Its cost exceeds a limit's burst, so it can never be admitted.
    TooBig,
    /// It would have to wait beyond the end of the clock.
    Never,
    /// The throttle was not [started](crate::Throttle::start).
    NotStarted,
}

impl Rejection {
    /// `slept` is by how much the gates' time is ahead of the clock.
    pub(crate) fn of(reason: Reason, slept: Slept) -> Self {
        match reason {
            Reason::Late(at) => Self::Late(time::ticking(slept.of_clock(at))),
            Reason::OverLimit => Self::OverLimit,
            Reason::TooBig => Self::TooBig,
            _ => Self::Never,
        }
    }
}

/// Milliseconds from now.
fn millis_until(at: Instant) -> u64 {
    at.saturating_duration_since(Instant::now()).as_millis()
}

macro_rules! texts {
    ($late:literal, $($reason:ident: $text:literal,)*) => {
        /// `Late` writes the time from now.
        impl core::fmt::Display for Rejection {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(match self {
                    Self::Late(at) => return write!(f, $late, millis_until(*at)),
                    $(Self::$reason => $text,)*
                })
            }
        }

        /// `Late` writes the time from now.
        #[cfg(feature = "defmt")]
        impl defmt::Format for Rejection {
            fn format(&self, f: defmt::Formatter<'_>) {
                match self {
                    Self::Late(at) => defmt::write!(f, $late, millis_until(*at)),
                    $(Self::$reason => defmt::write!(f, $text),)*
                }
            }
        }
    };
}

texts! {
    "the call could be sent in {} ms, after its deadline",
    GivenUp: "the deadline passed while the call was in flight",
    QueueFull: "the queue is full: give the throttle more places, or make fewer calls",
    OverLimit: "the law's limit for this second is used up",
    TooBig: "the cost is more than the limit's burst: give the quota a larger burst, or divide the call",
    Never: "the wait would outlast the clock",
    NotStarted: "the throttle was not started: call `start` first",
}

impl core::error::Error for Rejection {}
