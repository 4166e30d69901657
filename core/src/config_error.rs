//! The error of all constructors of a configuration.

/// What is wrong with a configuration. The name is that of the type and the field.
///
/// ```
/// use tidegate::law::{Aimd, AimdConfig};
/// use tidegate::{ConfigError, Quota, Ratio, Span};
///
/// // Half a call a second, in whole numbers, is one call in two seconds.
/// assert_eq!(Quota::per_second(1 / 2), Err(ConfigError::QuotaCount));
/// assert!(Quota::per(1, Span::from_secs(2)).is_ok());
/// // "Never cut" is another law: `Fixed`.
/// let error = Aimd::new(AimdConfig { keep: Ratio::ONE, ..AimdConfig::DEFAULT }).unwrap_err();
/// assert_eq!(error.to_string(), "aimd: `keep` must be below 1");
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum ConfigError {
    /// No policy has this name: see [`Policy::named`](crate::Policy::named).
    PolicyName,
    /// A quota of zero calls would never admit one.
    QuotaCount,
    /// A period of zero has no rate.
    QuotaPeriod,
    /// A burst of zero would never admit a call, and one above the count of a strict quota exceeds it.
    QuotaBurst,
    /// The burst times the interval is longer than 146 years.
    QuotaBurstTooLong,
    /// A base of zero would stay zero forever.
    BackoffBase,
    /// The base is above the maximum.
    BackoffMost,
    /// A factor below one would shrink the delay.
    BackoffFactor,
    /// A spread above one would reach below zero.
    BackoffSpread,
    /// A ceiling of zero would ignore every server. For no ceiling, use `Span::MAX`.
    CooldownCeiling,
    /// A spread above one could more than double a requested cooldown.
    CooldownSpread,
    /// With a reserve of zero, no retry could ever be sent. For no retries, set `Policy::attempts` to one.
    RetryBudgetReserve,
    /// With a ratio of zero, a spent retry budget would never recover.
    RetryBudgetRatio,
    /// The start's burst times the floor's interval is longer than 146 years.
    AimdBurst,
    /// The law cannot grow after zero successes. For no growth, set the ceiling to the start.
    AimdEvery,
    /// A cut would keep the whole rate.
    AimdKeep,
    /// The cooldown's `base` is zero or above `most`, or its `discount` is zero. For no cooldown, use `None`.
    AimdCooldown,
    /// The start is below the floor or above the ceiling.
    AimdStart,
    /// A cut would keep the whole limit.
    AimdConcurrencyKeep,
    /// The start is above the maximum.
    AimdConcurrencyStart,
    /// An initial delay of zero would stay zero forever.
    AutosleeperInitial,
    /// A factor below one would lower the delay on failure.
    AutosleeperUp,
    /// A factor above one would raise the delay on success.
    AutosleeperDown,
    /// A jitter above one could make the delay negative.
    AutosleeperSpread,
    /// A factor below one would shorten the sleep when a call is throttled.
    HerokuTimes,
    /// A sleep of zero that is only multiplied stays zero.
    HerokuStart,
    /// The time constant is zero. To disable it, use `None`.
    HerokuCalm,
    /// The limit would never grow back with a recovery of zero.
    TchannelRecovery,
    /// A rate above 14 does not fit the arithmetic.
    TchannelRate,
    /// A limit above 9 999 999 does not fit the arithmetic.
    TchannelMost,
}

impl core::fmt::Display for ConfigError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::PolicyName => Self::NO_SUCH_POLICY,
            Self::QuotaCount => "a quota's count must be at least 1",
            Self::QuotaPeriod => "a quota's period must be at least 1 ns",
            Self::QuotaBurst => {
                "a quota's burst must be at least 1, and at most the count if it is strict"
            }
            Self::QuotaBurstTooLong => {
                "a quota's burst times its interval must be at most 146 years"
            }
            Self::BackoffBase => "a backoff's base must be at least 1 ns",
            Self::BackoffMost => "a backoff's base must not be above its maximum",
            Self::BackoffFactor => "a backoff's factor must be at least 1",
            Self::BackoffSpread => "a backoff's spread must be at most 1",
            Self::CooldownCeiling => "a cooldown's ceiling must be at least 1 ns",
            Self::CooldownSpread => "a cooldown's spread must be at most 1",
            Self::RetryBudgetReserve => "a retry budget's reserve must be at least 1",
            Self::RetryBudgetRatio => "a retry budget's ratio must be above 0",
            Self::AimdBurst => {
                "aimd: the start's burst times the floor's interval must be at most 146 years"
            }
            Self::AimdEvery => "aimd: `every` must be at least 1",
            Self::AimdKeep => "aimd: `keep` must be below 1",
            Self::AimdCooldown => {
                "aimd: a cooldown needs 0 < `base` <= `most` and a `discount` of at least 1"
            }
            Self::AimdStart => "aimd: `start` must be between `floor` and `ceiling`",
            Self::AimdConcurrencyKeep => "aimd-concurrency: `keep` must be below 1",
            Self::AimdConcurrencyStart => "aimd-concurrency: `start` must not be above `most`",
            Self::AutosleeperInitial => "autosleeper: `initial` must be at least 1 ns",
            Self::AutosleeperUp => "autosleeper: `up` must be at least 1",
            Self::AutosleeperDown => "autosleeper: `down` must be at most 1",
            Self::AutosleeperSpread => "autosleeper: `spread` must be at most 1",
            Self::HerokuTimes => "heroku: `times` must be at least 1",
            Self::HerokuStart => {
                "heroku: `add` must be above 0, or both `start` and `floor` if the strategy is not \
                 exponential"
            }
            Self::HerokuCalm => "heroku: `calm` must be at least 1 ns",
            Self::TchannelRecovery => "tchannel: `recovery` must let the limit grow",
            Self::TchannelRate => "tchannel: a recovery rate must be at most 14",
            Self::TchannelMost => "tchannel: `most` must be at most 9999999",
        })
    }
}

impl core::error::Error for ConfigError {}
