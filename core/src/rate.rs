//! Quotas: a number of calls per period of the server.

use core::num::{NonZeroU32, NonZeroU64};

use crate::config_error::ConfigError;
use crate::fixed::div_rem;
use crate::time::{LATENESS, Span};

/// A limit as servers state it: a count per period, and how many calls may be sent at once.
///
/// It is stored as the interval between calls, rounded up to the nanosecond. So the rate never exceeds what the server
/// states, and is at most one nanosecond per call slower: 10⁻⁹ for one call per second, a thousandth for a million. The
/// highest rate is one call per nanosecond.
///
/// ```
/// use tidegate::{ConfigError, Quota, Span};
///
/// let heroku = Quota::per_hour(4_500).unwrap().with_burst(4_500).unwrap();
/// assert_eq!((heroku.interval(), heroku.burst()), (Span::from_millis(800), 4_500));
/// assert_eq!(Quota::per_minute(7).unwrap().interval(), Span::from_nanos(8_571_428_572));
/// assert_eq!(Quota::per_second(0), Err(ConfigError::QuotaCount));
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Quota {
    interval: Span,
    pub(crate) burst: NonZeroU32,
}

/// Laws count calls a second with 20 bits of fraction, which is calls per this period. One call an
/// hour is 291 of these (a tenth of a per cent below), a million a second 10^12.
const LAW_PERIOD: u64 = 1_000_000_000 << 20;

/// The longest time of a burst: 146 years. A snapshot keeps instants up to twice as far away.
const LONGEST_BURST: u64 = u64::MAX / 4;

impl Quota {
    /// `count` calls per `period`, one at a time.
    ///
    /// # Errors
    /// [`ConfigError::QuotaCount`] if `count` is zero, and [`ConfigError::QuotaPeriod`] if `period` is.
    pub const fn per(count: u64, period: Span) -> Result<Self, ConfigError> {
        let Some(count) = NonZeroU64::new(count) else { return Err(ConfigError::QuotaCount) };
        if period.as_nanos() == 0 {
            return Err(ConfigError::QuotaPeriod);
        }
        let (whole, rest) = div_rem(period.as_nanos(), count);
        let interval = Span::from_nanos(whole.saturating_add((rest > 0) as u64));
        Ok(Self { interval, burst: NonZeroU32::MIN })
    }

    /// At most `count` calls in any `period`, with up to `burst` at once after a silence.
    ///
    /// With any other quota, a period that begins with a burst has up to `count` + `burst` calls. Use a strict quota
    /// for legally limited airtime, and for servers that count a sliding window. In the long run, it allows
    /// `count` + 1 - `burst` calls per `period` + 2 ms, because the pacing makes up for up to 2 ms of timer delay.
    ///
    /// It holds for the times at which calls are sent, while the policy stays the same and no cost is corrected
    /// downwards. A server counts arrivals: add the variation of the network delay to `period`.
    ///
    /// ```
    /// use tidegate::{ConfigError, Quota, Span};
    ///
    /// let second = Span::from_secs(1);
    /// let strict = Quota::strict(10, second, 4).unwrap();
    /// assert_eq!((strict.burst(), strict.interval().as_millis()), (4, 143)); // seven a second
    /// assert_eq!(Quota::strict(10, second, 11), Err(ConfigError::QuotaBurst));
    /// ```
    ///
    /// # Errors
    /// Those of [`per`](Self::per) and [`with_burst`](Self::with_burst), and [`ConfigError::QuotaBurst`] if `burst` is above
    /// `count`.
    pub const fn strict(count: u64, period: Span, burst: u32) -> Result<Self, ConfigError> {
        if period.as_nanos() == 0 {
            return Err(ConfigError::QuotaPeriod);
        }
        if count > 0 && burst as u64 > count {
            return Err(ConfigError::QuotaBurst);
        }
        let apart = count.saturating_sub(burst.saturating_sub(1) as u64);
        match Self::per(
            apart,
            Span::from_nanos(period.as_nanos().saturating_add(LATENESS.as_nanos())),
        ) {
            Ok(quota) => quota.with_burst(burst),
            Err(error) => Err(error),
        }
    }

    /// `count` calls per second, one at a time.
    ///
    /// # Errors
    /// [`ConfigError::QuotaCount`] if `count` is zero.
    pub const fn per_second(count: u64) -> Result<Self, ConfigError> {
        Self::per(count, Span::from_secs(1))
    }

    /// `count` calls per minute, one at a time.
    ///
    /// # Errors
    /// [`ConfigError::QuotaCount`] if `count` is zero.
    pub const fn per_minute(count: u64) -> Result<Self, ConfigError> {
        Self::per(count, Span::from_secs(60))
    }

    /// `count` calls per hour, one at a time.
    ///
    /// # Errors
    /// [`ConfigError::QuotaCount`] if `count` is zero.
    pub const fn per_hour(count: u64) -> Result<Self, ConfigError> {
        Self::per(count, Span::from_secs(3_600))
    }

    /// `count` calls per day of 24 hours, one at a time.
    ///
    /// # Errors
    /// [`ConfigError::QuotaCount`] if `count` is zero.
    pub const fn per_day(count: u64) -> Result<Self, ConfigError> {
        Self::per(count, Span::from_secs(86_400))
    }

    /// The same quota, with up to `burst` calls' worth at once after a silence.
    ///
    /// # Errors
    /// [`ConfigError::QuotaBurst`] if `burst` is zero, and [`ConfigError::QuotaBurstTooLong`] if more than
    /// one interval takes more than 146 years: past 1 281 023 for one call an hour, past 53 375 for
    /// one a day, never for one a second.
    pub const fn with_burst(self, burst: u32) -> Result<Self, ConfigError> {
        let Some(burst) = NonZeroU32::new(burst) else { return Err(ConfigError::QuotaBurst) };
        let whole = self.interval.as_nanos().saturating_mul(burst.get() as u64);
        if burst.get() > 1 && whole > LONGEST_BURST {
            return Err(ConfigError::QuotaBurstTooLong);
        }
        Ok(Self { burst, ..self })
    }

    /// The time from one call to the next, rounded up to the nanosecond.
    #[must_use]
    pub const fn interval(self) -> Span {
        self.interval
    }

    /// How many calls' worth may be sent at once.
    #[must_use]
    pub const fn burst(self) -> u32 {
        self.burst.get()
    }

    /// The time in which the rate allows calls of this cost together.
    pub(crate) fn time_of(self, cost: u32) -> Span {
        // Where all calls of a small machine cost one, no multiplication is called.
        let is_one = cfg!(any(target_arch = "arm", target_arch = "riscv32")) && cost == 1;
        if is_one { self.interval } else { self.interval * cost.into() }
    }

    /// Calls a second with 20 bits of fraction, rounded down but never to zero.
    pub(crate) const fn law_rate(self) -> u64 {
        match NonZeroU64::new(self.interval.as_nanos()) {
            Some(interval) if interval.get() < LAW_PERIOD => div_rem(LAW_PERIOD, interval).0,
            _ => 1,
        }
    }

    /// The quota of this interval and burst, which a constructor has accepted.
    pub(crate) const fn of(interval: Span, burst: NonZeroU32) -> Self {
        Self { interval, burst }
    }
}

/// The interval at this many calls a second, with 20 bits of fraction; zero counts as one. At the
/// rate of a quota, it is no shorter than the quota's.
pub(crate) const fn law_interval(rate: u64) -> Span {
    match NonZeroU64::new(rate) {
        Some(rate) => Span::from_nanos(div_rem(LAW_PERIOD, rate).0),
        None => Span::from_nanos(LAW_PERIOD),
    }
}
