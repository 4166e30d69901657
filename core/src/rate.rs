//! Quotas: a number of calls per period of the server.

use core::num::{NonZeroU32, NonZeroU64};

use crate::fixed::{div_rem, mul_div_floor};
use crate::time::Span;

/// A limit as servers state it: a count per period, and how many may come at once.
///
/// Count and period are kept as given, so "7 per minute" and "10 per day" are exact: a rate per
/// second, or an interval in whole nanoseconds, could not say either.
///
/// ```
/// use tidegate::{Quota, QuotaError, Span};
///
/// let heroku = Quota::per_hour(4_500).unwrap().with_burst(4_500).unwrap();
/// assert_eq!((heroku.count(), heroku.period()), (4_500, Span::from_secs(3_600)));
/// assert_eq!(heroku.burst(), 4_500);
/// assert_eq!(Quota::per_second(0), Err(QuotaError::ZeroCount));
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Quota {
    pub(crate) count: NonZeroU64,
    pub(crate) period: NonZeroU64,
    pub(crate) burst: NonZeroU32,
}

/// Laws count calls a second with 20 bits of fraction, which is calls per this period. One call an
/// hour is 291 of these (a tenth of a per cent below), a million a second 10^12, and a burst may be
/// up to 17 592.
const LAW_PERIOD: NonZeroU64 = match NonZeroU64::new(1_000_000_000 << 20) {
    Some(period) => period,
    None => NonZeroU64::MIN,
};

impl Quota {
    /// `count` calls per `period`, one at a time.
    ///
    /// # Errors
    /// [`QuotaError::ZeroCount`] if `count` is zero, and [`QuotaError::ZeroPeriod`] if `period` is.
    pub const fn per(count: u64, period: Span) -> Result<Self, QuotaError> {
        let Some(count) = NonZeroU64::new(count) else { return Err(QuotaError::ZeroCount) };
        let Some(period) = NonZeroU64::new(period.as_nanos()) else {
            return Err(QuotaError::ZeroPeriod);
        };
        Ok(Self { count, period, burst: NonZeroU32::MIN })
    }

    /// `count` calls per second, one at a time.
    ///
    /// # Errors
    /// [`QuotaError::ZeroCount`] if `count` is zero.
    pub const fn per_second(count: u64) -> Result<Self, QuotaError> {
        Self::per(count, Span::from_secs(1))
    }

    /// `count` calls per minute, one at a time.
    ///
    /// # Errors
    /// [`QuotaError::ZeroCount`] if `count` is zero.
    pub const fn per_minute(count: u64) -> Result<Self, QuotaError> {
        Self::per(count, Span::from_secs(60))
    }

    /// `count` calls per hour, one at a time.
    ///
    /// # Errors
    /// [`QuotaError::ZeroCount`] if `count` is zero.
    pub const fn per_hour(count: u64) -> Result<Self, QuotaError> {
        Self::per(count, Span::from_secs(3_600))
    }

    /// `count` calls per day of 24 hours, one at a time.
    ///
    /// # Errors
    /// [`QuotaError::ZeroCount`] if `count` is zero.
    pub const fn per_day(count: u64) -> Result<Self, QuotaError> {
        Self::per(count, Span::from_secs(86_400))
    }

    /// The same quota, of which up to `burst` calls' worth may be sent at once after a silence.
    ///
    /// # Errors
    /// [`QuotaError::ZeroBurst`] if `burst` is zero, and [`QuotaError::BurstTooLarge`] if `burst`
    /// periods, in nanoseconds, do not fit 64 bits: past 5 124 095 for a quota per hour, past 213
    /// 503 for one per day, never for one per second.
    pub const fn with_burst(self, burst: u32) -> Result<Self, QuotaError> {
        let Some(burst) = NonZeroU32::new(burst) else { return Err(QuotaError::ZeroBurst) };
        if self.period.get().checked_mul(burst.get() as u64).is_none() {
            return Err(QuotaError::BurstTooLarge);
        }
        Ok(Self { burst, ..self })
    }

    /// Calls per [`period`](Self::period).
    #[must_use]
    pub const fn count(self) -> u64 {
        self.count.get()
    }

    /// The server's own period.
    #[must_use]
    pub const fn period(self) -> Span {
        Span::from_nanos(self.period.get())
    }

    /// The time from one call to the next, rounded up to the nanosecond. For display: the gates
    /// count with [`count`](Self::count) and [`period`](Self::period), which are exact.
    #[must_use]
    pub fn interval(self) -> Span {
        let (whole, rest) = div_rem(self.period.get(), self.count);
        Span::from_nanos(whole.saturating_add(u64::from(rest > 0)))
    }

    /// How many calls' worth may be sent at once.
    #[must_use]
    pub const fn burst(self) -> u32 {
        self.burst.get()
    }

    /// What a call of `cost` fills of the bucket, in 1/period of a call. Quotas are made so that a cost within the
    /// burst fits 64 bits.
    pub(crate) const fn call(self, cost: u32) -> u64 {
        self.period.get().wrapping_mul(cost as u64)
    }

    /// Calls a second with 20 bits of fraction, rounded down but never to zero.
    pub(crate) const fn law_rate(self) -> u64 {
        let rate = mul_div_floor(self.count.get(), LAW_PERIOD.get(), self.period.get());
        if rate == 0 { 1 } else { rate }
    }

    /// The quota of this many calls per second, with 20 fractional bits; zero counts as one.
    pub(crate) const fn of_law_rate(rate: u64, burst: LawBurst) -> Self {
        let count = match NonZeroU64::new(rate) {
            Some(count) => count,
            None => NonZeroU64::MIN,
        };
        Self { count, period: LAW_PERIOD, burst: burst.0 }
    }
}

/// A burst that fits the period which laws count in: 1 to 17 592.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(crate) struct LawBurst(NonZeroU32);

impl LawBurst {
    /// One call at a time.
    pub(crate) const ONE: Self = Self(NonZeroU32::MIN);

    pub(crate) const fn new(burst: u32) -> Result<Self, QuotaError> {
        match Quota::of_law_rate(1, Self::ONE).with_burst(burst) {
            Ok(quota) => Ok(Self(quota.burst)),
            Err(error) => Err(error),
        }
    }
}

/// What is wrong with a quota.
///
/// ```
/// use tidegate::{Quota, QuotaError, Span};
///
/// // Half a call a second, in whole numbers, is one call in two seconds.
/// assert_eq!(Quota::per_second(1 / 2), Err(QuotaError::ZeroCount));
/// assert!(Quota::per(1, Span::from_secs(2)).is_ok());
/// // Half a second, in whole seconds, is no time at all.
/// assert_eq!(Quota::per(1, Span::from_secs(500 / 1_000)), Err(QuotaError::ZeroPeriod));
/// // "No burst" is a burst of one call, which a new quota has.
/// let daily = Quota::per_day(1_000_000).unwrap();
/// assert_eq!(daily.with_burst(0), Err(QuotaError::ZeroBurst));
/// // A whole day's calls at once are too many calls times too long a period ...
/// assert_eq!(daily.with_burst(1_000_000), Err(QuotaError::BurstTooLarge));
/// // ... but about the same rate by the minute has room for them.
/// assert!(Quota::per_minute(694).unwrap().with_burst(1_000_000).is_ok());
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum QuotaError {
    /// A count of zero would never admit a call.
    ZeroCount,
    /// A period of zero has no rate.
    ZeroPeriod,
    /// A burst of zero would never admit a call.
    ZeroBurst,
    /// The burst times the period, in nanoseconds, does not fit 64 bits.
    BurstTooLarge,
}

impl core::fmt::Display for QuotaError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::ZeroCount => "a quota's count must be at least 1",
            Self::ZeroPeriod => "a quota's period must be at least 1 ns",
            Self::ZeroBurst => "a quota's burst must be at least 1",
            Self::BurstTooLarge => "a quota's burst times its period must be below 2^64 ns",
        })
    }
}

impl core::error::Error for QuotaError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_is_validated_by_the_constructor() {
        let hour = Quota::per_hour(1).unwrap();
        for (made, expected) in [
            (Quota::per_second(0), Err(QuotaError::ZeroCount)),
            (Quota::per(1, Span::ZERO), Err(QuotaError::ZeroPeriod)),
            (hour.with_burst(0), Err(QuotaError::ZeroBurst)),
            (hour.with_burst(u32::MAX), Err(QuotaError::BurstTooLarge)),
            (Quota::per(1, Span::MAX).unwrap().with_burst(2), Err(QuotaError::BurstTooLarge)),
            (Quota::per(1, Span::MAX).unwrap().with_burst(1), Quota::per(1, Span::MAX)),
        ] {
            assert_eq!(made, expected);
        }
        assert!(hour.with_burst(5_124_095).is_ok());
        assert_eq!(hour.with_burst(5_124_096), Err(QuotaError::BurstTooLarge));
        assert!(Quota::per_second(1).unwrap().with_burst(u32::MAX).is_ok());
    }

    #[test]
    fn a_laws_burst_fits_its_period() {
        assert!(LawBurst::new(17_592).is_ok());
        assert_eq!(LawBurst::new(17_593), Err(QuotaError::BurstTooLarge));
        assert_eq!(LawBurst::new(0), Err(QuotaError::ZeroBurst));
    }

    #[test]
    fn law_rates_round_down_and_never_to_zero() {
        assert_eq!(Quota::per_hour(1).unwrap().law_rate(), 291);
        assert_eq!(Quota::per_second(100_000).unwrap().law_rate(), 104_857_600_000);
        assert_eq!(Quota::per(1, Span::MAX).unwrap().law_rate(), 1);
        assert_eq!(Quota::per(u64::MAX, Span::from_nanos(1)).unwrap().law_rate(), u64::MAX);
    }
}
