//! Conversion between embassy's ticks and the core's nanoseconds, at any tick rate.
//!
//! The current time rounds down, and waits round up. So a timer never fires early, and a tick
//! converted to nanoseconds and back is unchanged.
//!
//! If only a 32-bit counter keeps running during a deep sleep, the core's
//! [`Ticks`](tidegate::time::Ticks) measures the sleep, even if the counter wrapped once:
//!
//! ```
//! use core::num::NonZeroU32;
//! use embassy_time::Duration;
//! use tidegate::time::Ticks;
//! use tidegate_embassy::time;
//!
//! let (before, after) = (u32::MAX - 32_767, 32_768); // as read from the counter
//! let mut rtc = Ticks::new(NonZeroU32::new(32_768).unwrap());
//! let (asleep, awake) = (rtc.extend(before), rtc.extend(after));
//! assert_eq!(time::duration(awake - asleep), Duration::from_secs(2));
//! ```

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Waker};

use embassy_time::{TICK_HZ, Timer};
use tidegate::{Ratio, Span};

/// Converts ticks to nanoseconds and back. At the usual rates one of the two ratios is an integer,
/// or an integer divided by a power of two.
#[derive(Clone, Copy)]
struct Rate {
    nanos: Ratio,
    ticks: Ratio,
}

const RATE: Rate = match Rate::of(TICK_HZ) {
    Some(rate) => rate,
    None => panic!("the ratio of the tick rate to a gigahertz does not fit two numbers of 32 bits"),
};

impl Rate {
    const fn of(hertz: u64) -> Option<Self> {
        const SECOND: u64 = 1_000_000_000;
        let (mut one, mut two) = (SECOND, hertz);
        while let Some(rest) = one.checked_rem(two) {
            (one, two) = (two, rest);
        }
        let (Some(nanos), Some(ticks)) = (SECOND.checked_div(one), hertz.checked_div(one)) else {
            return None;
        };
        if ticks > u32::MAX as u64 {
            return None;
        }
        #[expect(clippy::cast_possible_truncation, reason = "checked above, and a second is less")]
        let (nanos, ticks) = (nanos as u32, ticks as u32);
        match (Ratio::new(nanos, ticks), Ratio::new(ticks, nanos)) {
            (Some(nanos), Some(ticks)) => Some(Self { nanos, ticks }),
            _ => None,
        }
    }

    /// Rounds down; saturates.
    #[inline(always)] // the rate is a constant
    const fn nanos(self, ticks: u64) -> u64 {
        let (nanos, per) = (self.nanos.numerator() as u64, self.nanos.denominator());
        if per.is_power_of_two() {
            let (shift, mask) = (per.trailing_zeros(), per.wrapping_sub(1) as u64);
            let whole = ticks.wrapping_shr(shift).saturating_mul(nanos);
            let part = (ticks & mask).wrapping_mul(nanos).wrapping_shr(shift);
            return whole.saturating_add(part);
        }
        self.nanos.floor_of(ticks)
    }

    /// Rounds up; saturates.
    const fn ticks(self, nanos: u64) -> u64 {
        self.ticks.ceil_of(nanos)
    }
}

/// The boot, in the core's nanoseconds: 146 years after the core's epoch, and 438 before its end.
/// embassy's clock restarts at every reset, and times before a deep sleep need instants too.
const BOOT: u64 = 1 << 62;

/// Converts an instant of embassy to one of the core, rounded down to the nanosecond. There is time before the boot, for
/// the instants in a snapshot.
#[must_use]
pub const fn instant(at: embassy_time::Instant) -> tidegate::Instant {
    tidegate::Instant::from_nanos(RATE.nanos(at.as_ticks()).saturating_add(BOOT))
}

/// Converts to the first instant of embassy that is not before `at`.
#[must_use]
pub const fn ticking(at: tidegate::Instant) -> embassy_time::Instant {
    embassy_time::Instant::from_ticks(RATE.ticks(at.as_nanos().saturating_sub(BOOT)))
}

/// Converts a duration of embassy to a span of the core, rounded down.
#[must_use]
pub const fn span(duration: embassy_time::Duration) -> Span {
    Span::from_nanos(RATE.nanos(duration.as_ticks()))
}

/// Converts to the shortest duration of embassy that is not shorter than `span`.
#[must_use]
pub const fn duration(span: Span) -> embassy_time::Duration {
    embassy_time::Duration::from_ticks(RATE.ticks(span.as_nanos()))
}

/// How long the device's clock stood still.
#[derive(Clone, Copy)]
pub(crate) struct Slept {
    #[cfg(feature = "sleep")]
    time: Span,
}

impl Slept {
    pub(crate) const NONE: Self = Self {
        #[cfg(feature = "sleep")]
        time: Span::ZERO,
    };

    /// The gates' time at this time of the clock.
    pub(crate) fn of_gates(self, at: tidegate::Instant) -> tidegate::Instant {
        #[cfg(feature = "sleep")]
        let at = at + self.time;
        at
    }

    /// The clock's time at this time of the gates.
    pub(crate) fn of_clock(self, at: tidegate::Instant) -> tidegate::Instant {
        #[cfg(feature = "sleep")]
        let at = at - self.time;
        at
    }

    #[cfg(feature = "sleep")]
    pub(crate) fn add(&mut self, duration: embassy_time::Duration) {
        self.time += span(duration);
    }
}

/// For the log.
pub(crate) const fn millis(span: Span) -> u64 {
    duration(span).as_millis()
}

/// The current time as a core instant.
#[inline(never)]
pub(crate) fn now() -> tidegate::Instant {
    instant(embassy_time::Instant::now())
}

/// Makes sure that the task wakes at `at` or earlier.
pub(crate) fn wake_at(at: tidegate::Instant, waker: &Waker) {
    // A timer that is polled for the first time only registers the waker.
    let mut context = Context::from_waker(waker);
    _ = Pin::new(&mut Timer::at(ticking(at))).poll(&mut context);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rates() -> impl Strategy<Value = u64> {
        prop_oneof![
            Just(1_000),
            Just(32_768),
            Just(1_000_000),
            Just(64_000_000),
            Just(5_242_880_000), // the highest rate of embassy-time
            1..=u64::from(u32::MAX),
        ]
    }

    proptest! {
        #[test]
        fn elapsed_time_is_the_exact_quotient_rounded_down(hertz in rates(), ticks: u64) {
            let exact = u128::from(ticks) * 1_000_000_000 / u128::from(hertz);
            let exact = u64::try_from(exact).unwrap_or(u64::MAX);
            prop_assert_eq!(Rate::of(hertz).unwrap().nanos(ticks), exact);
        }

        #[test]
        fn a_wait_is_the_exact_quotient_rounded_up(hertz in rates(), nanos: u64) {
            let exact = (u128::from(nanos) * u128::from(hertz)).div_ceil(1_000_000_000);
            let exact = u64::try_from(exact).unwrap_or(u64::MAX);
            prop_assert_eq!(Rate::of(hertz).unwrap().ticks(nanos), exact);
        }

        #[test]
        fn a_tick_of_a_gigahertz_or_less_is_converted_back_to_the_same_tick(
            hertz in rates(), seconds in 0..1_000_000_000u64, rest: u64,
        ) {
            prop_assume!(hertz <= 1_000_000_000);
            let ticks = seconds * hertz + rest % hertz;
            let rate = Rate::of(hertz).unwrap();
            prop_assert_eq!(rate.ticks(rate.nanos(ticks)), ticks);
        }
    }
}
