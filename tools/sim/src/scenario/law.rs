//! Custom laws: parameters under a name that the scenario defines.

use std::collections::BTreeMap;
use std::num::NonZeroU16;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tidegate::backoff::{Backoff, Growth, Jitter};
use tidegate::law::{Adaptive, AnyLaw, Fixed};
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
        match *self {
            Self::Adaptive { tolerance } => {
                let law = Adaptive::DEFAULT;
                let law = match tolerance {
                    Some(share) => law.tolerance(ratio(share)?),
                    None => law,
                };
                Ok(Policy::adaptive().limits([AnyLaw::Adaptive(law)]).attempts(None))
            }
            Self::Fixed { rate, burst } => {
                let (count, period) = rate.count_and_period();
                let quota = Quota::per(count, period)?.with_burst(burst.unwrap_or(1))?;
                Ok(Policy::new(AnyLaw::Fixed(Fixed::new(quota))).attempts(None))
            }
            Self::Backoff { base, most, factor, jitter, attempts } => {
                let span = |time: Option<Time>, usual| time.map_or(usual, Time::span);
                let twice = || Ratio::new(2, 1).ok_or(LawError::Ratio);
                let growth = Growth::Exponential(factor.map_or_else(twice, ratio)?);
                let jitter = match jitter {
                    Some(JitterSpec::None) => Jitter::None,
                    Some(JitterSpec::Equal) => Jitter::Equal,
                    Some(JitterSpec::Full) | None => Jitter::Full,
                };
                let base = span(base, Span::from_millis(100));
                let schedule = Backoff::new(growth, jitter, base, span(most, Span::from_secs(20)))?;
                let unlimited = Policy::new(AnyLaw::Fixed(Fixed::UNLIMITED));
                Ok(unlimited.backoff(Some(schedule)).attempts(attempts))
            }
        }
    }
}

fn ratio(value: f64) -> Result<Ratio, LawError> {
    const ONE: u32 = 1_000_000;
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
        for name in ["adaptive", "backoff"] {
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
