//! Time as an argument: instants, spans, and an extender for wrapping tick counters.
//!
//! Nothing here reads a clock. The caller picks an epoch (boot, page load, 1970) and passes `now` from a monotonic
//! clock. A clock that steps back by *d* earns nothing and lengthens waits by at most *d*, because all waits end at a
//! fixed instant.

use core::cmp::Ordering;
use core::num::NonZeroU32;
use core::ops::{Add, AddAssign, Mul, Sub};

/// How much of a timer's delay is made up. Most timers count milliseconds and start with the next
/// one (tokio's, Node's), which would slow a client with a thousand calls per second.
pub(crate) const LATENESS: Span = Span::from_millis(2);

/// Ordering by nanoseconds, with separate functions for the maximum and the minimum of two: on
/// 32-bit machines a call of them is half as long as their inlined code.
macro_rules! ordered {
    ($time:ident) => {
        impl Ord for $time {
            fn cmp(&self, other: &Self) -> Ordering {
                self.0.cmp(&other.0)
            }

            #[cfg_attr(
                any(target_arch = "arm", target_arch = "riscv32", target_arch = "wasm32"),
                inline(never)
            )]
            fn max(self, other: Self) -> Self {
                Self(self.0.max(other.0))
            }

            #[cfg_attr(
                any(target_arch = "arm", target_arch = "riscv32", target_arch = "wasm32"),
                inline(never)
            )]
            fn min(self, other: Self) -> Self {
                Self(self.0.min(other.0))
            }
        }

        impl PartialOrd for $time {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }
    };
}

/// A point in time: nanoseconds since an epoch that the caller picked. Sums and differences saturate.
///
/// ```
/// use tidegate::{Instant, Span};
///
/// let boot = Instant::ZERO;
/// let later = boot + Span::from_millis(3);
/// assert_eq!(later.as_nanos(), 3_000_000);
/// assert_eq!(later - boot, Span::from_millis(3));
/// // A clock that stepped back has not earned anything.
/// assert_eq!(boot - later, Span::ZERO);
/// assert_eq!(Instant::MAX + Span::from_millis(3), Instant::MAX);
/// ```
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Instant(u64);

ordered!(Instant);

impl Instant {
    /// The caller's epoch.
    pub const ZERO: Self = Self(0);
    /// The end of time, 584 years after the epoch; as a deadline it means "none".
    pub const MAX: Self = Self(u64::MAX);
    /// One instant before the end of time: the latest end of a wait.
    pub(crate) const LAST: Self = Self(u64::MAX - 1);

    /// The instant `nanos` nanoseconds after the epoch.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the epoch.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The instant `span` later, or `None` if that lies past the end of time.
    #[must_use]
    pub const fn checked_add(self, span: Span) -> Option<Self> {
        match self.0.checked_add(span.0) {
            Some(nanos) => Some(Self(nanos)),
            None => None,
        }
    }
}

/// The instant `span` later, at most [`Instant::MAX`].
impl Add<Span> for Instant {
    type Output = Self;

    #[inline]
    fn add(self, span: Span) -> Self {
        Self((Span(self.0) + span).0)
    }
}

impl AddAssign<Span> for Instant {
    #[inline]
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

/// The instant `span` earlier, at least the epoch.
impl Sub<Span> for Instant {
    type Output = Self;

    #[inline]
    fn sub(self, span: Span) -> Self {
        Self((Span(self.0) - span).0)
    }
}

/// How long after `earlier` this is; zero if `earlier` is the later one.
impl Sub for Instant {
    type Output = Span;

    #[inline]
    fn sub(self, earlier: Self) -> Span {
        Span(self.0) - Span(earlier.0)
    }
}

/// A length of time in nanoseconds. Sums, differences and multiples saturate.
///
/// ```
/// use tidegate::Span;
///
/// assert_eq!(Span::from_secs(2), Span::from_millis(2_000));
/// assert_eq!(Span::from_secs(2) * 3 - Span::from_secs(1), Span::from_secs(5));
/// assert_eq!(Span::from_secs(u64::MAX), Span::MAX); // saturates
/// assert_eq!(Span::from_nanos(1_999_999).as_millis(), 1); // rounds down
/// ```
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Span(u64);

ordered!(Span);

/// Converts to nanoseconds. A longer duration becomes [`Span::MAX`].
///
/// ```
/// use core::time::Duration;
/// use tidegate::Span;
///
/// assert_eq!(Span::from(Duration::from_millis(1_500)), Span::from_millis(1_500));
/// assert_eq!(Span::from(Duration::MAX), Span::MAX);
/// assert_eq!(Duration::from(Span::from_secs(2)), Duration::from_secs(2));
/// ```
impl From<core::time::Duration> for Span {
    fn from(duration: core::time::Duration) -> Self {
        let seconds = Self::from_secs(duration.as_secs());
        seconds + Self(duration.subsec_nanos().into())
    }
}

impl From<Span> for core::time::Duration {
    fn from(span: Span) -> Self {
        Self::from_nanos(span.0)
    }
}

impl Span {
    /// The empty span.
    pub const ZERO: Self = Self(0);
    /// The longest span, 584 years.
    pub const MAX: Self = Self(u64::MAX);

    /// `nanos` nanoseconds.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// `micros` microseconds; saturates.
    #[must_use]
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros.saturating_mul(1_000))
    }

    /// `millis` milliseconds; saturates.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// `secs` seconds; saturates.
    #[must_use]
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1_000_000_000))
    }

    /// The span in nanoseconds.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The span in whole milliseconds, rounded down.
    #[must_use]
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000_000
    }

    /// The span in whole seconds, rounded down.
    #[must_use]
    pub const fn as_secs(self) -> u64 {
        self.0 / 1_000_000_000
    }

    /// This span, halved this many times; rounded down.
    pub(crate) const fn halved(self, times: u32) -> Self {
        Self(self.0 >> times)
    }
}

macro_rules! saturating {
    ($(#[$doc:meta] $Op:ident $op:ident $other:ty, |$a:ident, $b:ident| $made:expr;)+) => {
        $(#[$doc]
        impl $Op<$other> for Span {
            type Output = Self;

            #[cfg_attr(
                any(target_arch = "arm", target_arch = "riscv32", target_arch = "wasm32"),
                inline(never)
            )]
            fn $op(self, other: $other) -> Self {
                let ($a, $b) = (self.0, other);
                Self($made)
            }
        })+
    };
}

saturating! {
    /// The sum, at most [`Span::MAX`].
    Add add Span, |a, b| a.saturating_add(b.0);
    /// The difference, at least zero.
    Sub sub Span, |a, b| a.saturating_sub(b.0);
    /// The multiple, at most [`Span::MAX`].
    Mul mul u64, |a, b| a.saturating_mul(b);
}

impl AddAssign for Span {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// Turns a wrapping 32-bit tick counter into [`Instant`]s that never wrap.
///
/// Read the counter at least once in every half of its range: at 32 768 Hz that is once in 18 hours, at 1 MHz once in
/// 35 minutes. A reading up to half the range behind the latest one counts as the latest one, so out-of-order readings
/// are harmless.
///
/// ```
/// use tidegate::{Instant, Span, time::Ticks};
/// use core::num::NonZeroU32;
///
/// let mut ticks = Ticks::new(NonZeroU32::new(32_768).unwrap());
/// assert_eq!(ticks.extend(u32::MAX).as_nanos(), 131_071_999_969_482); // the counter starts high
/// assert_eq!(ticks.extend(0).as_nanos(), 131_072_000_000_000);        // and wraps one tick later
/// // Waits round up: a timer set for this many ticks never fires early.
/// assert_eq!(ticks.to_ticks_ceil(Span::from_nanos(1)), 1);
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Ticks {
    hertz: NonZeroU32,
    /// `None` until the first reading, which may be anything.
    latest: Option<u64>,
}

impl Ticks {
    /// An extender for a counter of `hertz` ticks per second, before its first reading.
    #[must_use]
    pub const fn new(hertz: NonZeroU32) -> Self {
        Self { hertz, latest: None }
    }

    /// The instant of the counter's `reading`, rounded down to the nanosecond; saturates at
    /// [`Instant::MAX`].
    pub fn extend(&mut self, reading: u32) -> Instant {
        let ticks = match self.latest {
            None => u64::from(reading),
            Some(latest) => {
                let ahead = reading.wrapping_sub(low_half(latest));
                let late = ahead > u32::MAX / 2;
                if late { latest } else { latest.saturating_add(u64::from(ahead)) }
            }
        };
        self.latest = Some(ticks);
        let hertz = u64::from(self.hertz.get());
        let seconds = ticks.checked_div(hertz).unwrap_or(0);
        let rest = ticks.checked_rem(hertz).unwrap_or(0);
        // `rest` is below 2^32, so its product with 10^9 fits.
        let nanos = rest.saturating_mul(1_000_000_000).checked_div(hertz).unwrap_or(0);
        Instant(seconds.saturating_mul(1_000_000_000).saturating_add(nanos))
    }

    /// How many ticks cover `span`, rounded up; saturates.
    #[must_use]
    pub fn to_ticks_ceil(&self, span: Span) -> u64 {
        let hertz = u64::from(self.hertz.get());
        let seconds = span.0 / 1_000_000_000;
        let rest = span.0 % 1_000_000_000;
        let ticks = rest.saturating_mul(hertz).div_ceil(1_000_000_000);
        seconds.saturating_mul(hertz).saturating_add(ticks)
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the low half is what is asked for")]
const fn low_half(ticks: u64) -> u32 {
    ticks as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn units_and_durations_of_the_standard_library_are_converted_and_saturate() {
        use core::time::Duration;
        for (span, nanos) in [
            (Span::from_micros(7), 7_000),
            (Span::from_micros(u64::MAX), u64::MAX),
            (Span::from(Duration::from_nanos(3_000_000_007)), 3_000_000_007),
            (Span::from(Duration::new(u64::MAX, 1)), u64::MAX),
        ] {
            assert_eq!(span.as_nanos(), nanos);
            assert_eq!(Duration::from(span), Duration::from_nanos(nanos));
        }
    }

    proptest! {
        #[test]
        fn the_extended_clock_equals_an_exact_clock_over_many_wraps(
            hertz in prop_oneof![Just(1_000u32), Just(32_768), Just(1_000_000), 1..=u32::MAX],
            steps in prop::collection::vec(0u32..=u32::MAX / 2, 1..200),
        ) {
            let mut extender = Ticks::new(NonZeroU32::new(hertz).unwrap());
            let mut exact = 0u128;
            for step in steps {
                exact += u128::from(step);
                let nanos = (exact * 1_000_000_000 / u128::from(hertz)).min(u128::from(u64::MAX));
                let seen = extender.extend((exact % (1 << 32)) as u32);
                prop_assert_eq!(u128::from(seen.as_nanos()), nanos);
            }
        }
    }
}
