//! The numbers of a limit, in the width that a table of dialects needs.

use core::fmt::Debug;
use core::ops::{BitAnd, BitOr};

use crate::time::Span;

/// A count, a time or a date.
pub trait Number:
    Copy + Ord + Debug + From<u8> + BitAnd<Output = Self> + BitOr<Output = Self> + 'static
{
    const ZERO: Self;
    /// How many decimal places of a second a time has.
    const TIME_PLACES: usize;
    const SECOND: Self;
    /// The same of a date since 1970.
    const DATE_PLACES: usize;
    /// The largest share of [`slack`](Self::slack).
    const UNKNOWN_SHARE: Self;
    /// The slack of a limit without remaining calls.
    const UNKNOWN_LEFT: Self;

    /// The number; saturates.
    fn of(number: u64) -> Self;
    fn get(self) -> u64;
    /// The complement: of two numbers, the smaller one has the larger complement.
    fn complement(self) -> Self;
    /// The difference; zero if `other` is larger.
    fn minus(self, other: Self) -> Self;
    /// The time from `now` until this date.
    fn since(self, now: Self) -> Self;
    fn span(self) -> Span;
    /// The share `self / limit`, at most one.
    fn share(self, limit: Self) -> Self;
}

macro_rules! number {
    ($number:ty, time $time:literal, date $date:literal, share $bits:literal, $span:expr) => {
        impl Number for $number {
            const ZERO: Self = 0;
            const TIME_PLACES: usize = $time;
            const SECOND: Self = <$number>::pow(10, $time);
            const DATE_PLACES: usize = $date;
            const UNKNOWN_SHARE: Self = 2 << $bits;
            const UNKNOWN_LEFT: Self = 4 << $bits;

            fn of(number: u64) -> Self {
                Self::try_from(number).unwrap_or(Self::MAX)
            }

            fn get(self) -> u64 {
                self.into()
            }

            fn complement(self) -> Self {
                !self
            }

            fn minus(self, other: Self) -> Self {
                self.saturating_sub(other)
            }

            fn since(self, now: Self) -> Self {
                const SCALE: $number = <$number>::pow(10, $time - $date);
                self.saturating_sub(now).min(Self::MAX / SCALE).wrapping_mul(SCALE)
            }

            fn span(self) -> Span {
                $span(self.into())
            }

            fn share(mut self, limit: Self) -> Self {
                let mut share = 1;
                // Division bit by bit, because small machines would link a kilobyte for it.
                for _ in 0..$bits {
                    let missing = limit.wrapping_sub(self);
                    let whole = self >= missing;
                    self = self.wrapping_add(if whole { missing.wrapping_neg() } else { self });
                    share = share << 1 | Self::from(whole);
                }
                share
            }
        }
    };
}

// Milliseconds, and dates in seconds.
number!(u32, time 3, date 0, share 29, Span::from_millis);
// Nanoseconds.
number!(u64, time 9, date 9, share 32, Span::from_nanos);
