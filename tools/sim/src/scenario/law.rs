//! Custom laws: parameters under a name that the scenario defines.

use std::collections::BTreeMap;
use std::num::{NonZeroU16, NonZeroU32};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tidegate::backoff::{Backoff, Growth, Jitter};
use tidegate::law::{
    Adaptive, AnyLaw, Fixed,
    published::{Autosleeper, AutosleeperConfig, Over, Recovery, Tchannel, TchannelConfig},
};
use tidegate::{ConfigError, Policy, Quota, Ratio, Span};
use toml::Spanned;

use super::units::{Rate, Time};

/// A custom law. Missing parameters are those of the law of that name.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum LawSpec {
    Adaptive {
        /// The largest share of rejections that may be noise. The default is the law's.
        tolerance: Option<f64>,
    },
    Fixed {
        rate: Rate,
        /// How many calls may be sent at once. The default is 1.
        burst: Option<u32>,
    },
    /// No rate, and a delay between a call's attempts.
    Backoff {
        base: Option<Time>,
        most: Option<Time>,
        factor: Option<f64>,
        jitter: Option<JitterSpec>,
        /// How many attempts a call has, including the first. The default is unlimited.
        attempts: Option<NonZeroU16>,
    },
    /// A delay that grows on failure and shrinks on success.
    Autosleeper {
        /// The delay after the first failure.
        initial: Option<Time>,
        most: Option<Time>,
        /// The factor by which a failure multiplies the delay.
        up: Option<f64>,
        /// The factor by which a step down multiplies the delay.
        down: Option<f64>,
        /// The number of successes before a step down.
        threshold: Option<u16>,
        /// Jitter adds or subtracts up to this share of the delay ...
        spread: Option<f64>,
        /// ... but never more than this.
        most_spread: Option<Time>,
    },
    /// A limit per second that busy responses halve.
    Tchannel {
        /// The initial and highest limit, in calls a second.
        most: Option<NonZeroU32>,
        recovery: Option<RecoverySpec>,
        over: Option<OverSpec>,
    },
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum JitterSpec {
    None,
    /// From zero up to the delay.
    Full,
    /// From half the delay up to the delay.
    Equal,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RecoverySpec {
    /// By this multiple of itself, so that a rate of 3 makes it four times as high.
    Rate(u32),
    /// By this many calls a second.
    Value(u32),
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OverSpec {
    /// It is rejected immediately.
    Reject,
    /// It waits for a second with room.
    Wait,
}

#[derive(Clone, Copy, Debug, thiserror::Error)]
pub(super) enum LawError {
    #[error(
        "a factor or share of a custom law must be between 0 and 1000, with at most six decimals"
    )]
    Ratio,
    #[error("{0}")]
    Config(#[from] ConfigError),
}

impl LawSpec {
    pub(super) fn policy(&self) -> Result<Policy, LawError> {
        let policy = match *self {
            Self::Adaptive { tolerance } => {
                let law = Adaptive::DEFAULT;
                let law = match tolerance {
                    Some(share) => law.tolerance(ratio(Some(share), None)?),
                    None => law,
                };
                Policy::new(AnyLaw::Adaptive(law))
            }
            Self::Fixed { rate, burst } => {
                let (count, period) = rate.count_and_period();
                let quota = Quota::per(count, period)?.with_burst(burst.unwrap_or(1))?;
                Policy::new(AnyLaw::Fixed(Fixed::new(quota)))
            }
            Self::Backoff { base, most, factor, jitter, attempts } => {
                let growth = Growth::Exponential(ratio(factor, Ratio::new(2, 1))?);
                let jitter = match jitter {
                    Some(JitterSpec::None) => Jitter::None,
                    Some(JitterSpec::Equal) => Jitter::Equal,
                    Some(JitterSpec::Full) | None => Jitter::Full,
                };
                let base = span(base, Span::from_millis(100));
                let schedule = Backoff::new(growth, jitter, base, span(most, Span::from_secs(20)))?;
                let unlimited = Policy::new(AnyLaw::Fixed(Fixed::UNLIMITED));
                return Ok(unlimited.backoff(Some(schedule)).attempts(attempts));
            }
            Self::Autosleeper { initial, most, up, down, threshold, spread, most_spread } => {
                let usual = AutosleeperConfig::DEFAULT;
                let law = Autosleeper::new(AutosleeperConfig {
                    initial: span(initial, usual.initial),
                    most: span(most, usual.most),
                    up: ratio(up, Some(usual.up))?,
                    down: ratio(down, Some(usual.down))?,
                    threshold: threshold.unwrap_or(usual.threshold),
                    spread: ratio(spread, Some(usual.spread))?,
                    most_spread: span(most_spread, usual.most_spread),
                })?;
                Policy::new(AnyLaw::Autosleeper(law)).backoff(None)
            }
            Self::Tchannel { most, recovery, over } => {
                let usual = TchannelConfig::DEFAULT;
                let law = Tchannel::new(TchannelConfig {
                    most: most.unwrap_or(usual.most),
                    recovery: match recovery {
                        Some(RecoverySpec::Rate(rate)) => Recovery::Rate(rate),
                        Some(RecoverySpec::Value(value)) => Recovery::Value(value),
                        None => usual.recovery,
                    },
                    over: match over {
                        Some(OverSpec::Reject) => Over::Reject,
                        Some(OverSpec::Wait) => Over::Wait,
                        None => usual.over,
                    },
                })?;
                Policy::new(AnyLaw::Tchannel(law))
            }
        };
        Ok(policy.attempts(None))
    }
}

fn span(time: Option<Time>, usual: Span) -> Span {
    time.map_or(usual, Time::span)
}

fn ratio(value: Option<f64>, usual: Option<Ratio>) -> Result<Ratio, LawError> {
    const ONE: u32 = 1_000_000;
    let Some(value) = value else { return usual.ok_or(LawError::Ratio) };
    let millionths = libm::round(value * f64::from(ONE));
    let near = libm::fabs(value - millionths / f64::from(ONE)) < 1e-9;
    let ratio = Ratio::new(millionths as u32, ONE);
    ratio.filter(|_| near && (0.0..=1_000.0).contains(&value)).ok_or(LawError::Ratio)
}

/// Reads the custom laws of a scenario by name.
pub(super) fn by_name<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Vec<(String, Spanned<LawSpec>)>, D::Error> {
    Ok(BTreeMap::deserialize(from)?.into_iter().collect())
}

/// Writes what [`by_name`] reads.
pub(super) fn as_table<S: Serializer>(
    laws: &[(String, Spanned<LawSpec>)],
    to: S,
) -> Result<S::Ok, S::Error> {
    to.collect_map(laws.iter().map(|(name, law)| (name, law)))
}

#[cfg(test)]
mod tests {
    use crate::scenario::Scenario;
    use tidegate::Policy;

    fn with(law: &str) -> String {
        format!(
            "title = 'own'\nend = '60s'\n[laws.own]\n{law}\n[server.bucket]\nburst = 10\nrate = '4/s'\n[[clients]]\n\
             law = 'own'\n"
        )
    }

    #[test]
    fn missing_parameters_are_those_of_the_law_of_that_name() {
        for name in ["backoff", "autosleeper", "tchannel"] {
            let scenario = Scenario::parse(&with(&format!("{name} = {{}}")), "", "").unwrap();
            let named = Policy::named(name).map(|policy| policy.attempts(None));
            assert_eq!(scenario.own_law("own"), named, "{name}");
        }
        let fixed = Scenario::parse(&with("fixed = { rate = '10/s' }"), "", "").unwrap();
        let interval = |policy: Policy| format!("{policy:?}").contains("interval: Span(100000000)");
        assert!(fixed.own_law("own").is_some_and(interval), "{:?}", fixed.own_law("own"));
    }

    #[test]
    fn every_parameter_changes_the_law() {
        for law in include_str!("../../tests/law_parameters.txt").lines() {
            let scenario = Scenario::parse(&with(law), "", "").unwrap();
            let own = scenario.own_law("own");
            let name = law.split(' ').next().unwrap();
            let named = Policy::named(name).map(|policy| policy.attempts(None));
            assert!(own.is_some() && own != named, "{law}: {own:?}");
        }
    }
}
