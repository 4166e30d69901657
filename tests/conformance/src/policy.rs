//! Policies as written in vectors. Missing settings have their defaults.

use alloc::format;
use alloc::vec::Vec;
use core::fmt::Debug;
use core::num::NonZeroU64;

use serde_json::Value;
use tidegate::backoff::{Backoff, Growth, Jitter};
use tidegate::gate::{CooldownPolicy, RetryBudgetPolicy};
use tidegate::law::{
    Adaptive, Aimd, AimdConcurrency, AimdConcurrencyConfig, AimdConfig, AimdCooldown, AnyLaw,
    Fixed,
    published::{
        Autosleeper, AutosleeperConfig, Heroku, HerokuConfig, Over, Recovery, Strategy, Tchannel,
        TchannelConfig,
    },
};
use tidegate::{Policy, Quota, Ratio};

use crate::Played;
use crate::value::{
    Read, at, each, field, flag, given, list, number, object, ratio, same, small, span, text,
};

pub(crate) fn laws(value: &Value) -> Read<usize> {
    value.get("laws").map_or(Ok(1), |laws| list(laws).map(Vec::len))
}

/// The policy, or the name of the constructor's error.
pub(crate) fn policy<const LIMITS: usize>(value: &Value) -> Read<Policy<AnyLaw, LIMITS>> {
    let mut policy = named(value)?;
    for (key, value) in object(value)? {
        policy = match &**key {
            "cooldown" => policy
                .cooldown(made(CooldownPolicy::new(span(at(value, 0)?)?, ratio(at(value, 1)?)?))?),
            "concurrency" => policy.concurrency(positive(value)?),
            "retry_budget" => policy.retry_budget(given(value, retry_budget)?),
            "backoff" => policy.backoff(given(value, backoff)?),
            "attempts" => policy.attempts(given(value, positive)?),
            "elapsed" => policy.elapsed(given(value, span)?),
            _ => policy,
        };
    }
    Ok(policy)
}

fn named<const LIMITS: usize>(value: &Value) -> Read<Policy<AnyLaw, LIMITS>> {
    let Some(name) = value.get("named") else {
        return Ok(Policy::of(each(field(value, "laws")?, law)?));
    };
    let named = policy_of(text(name)?)?;
    Ok(named.limits([law_of(named); LIMITS]))
}

fn policy_of(name: &str) -> Read<Policy> {
    Policy::named(name).ok_or_else(|| format!("unknown policy {name}"))
}

fn law_of(policy: Policy) -> AnyLaw {
    let [law] = policy.laws();
    law
}

/// The constructor's value, or the name of its error.
fn made<T, E: Debug>(result: Result<T, E>) -> Read<T> {
    result.map_err(|error| format!("{error:?}"))
}

fn retry_budget(value: &Value) -> Read<RetryBudgetPolicy> {
    made(RetryBudgetPolicy::new(ratio(at(value, 0)?)?, small(at(value, 1)?)?))
}

/// `[growth, jitter, base, most]`.
fn backoff(value: &Value) -> Read<Backoff> {
    let growth = match at(value, 0)?.as_str() {
        Some("constant") => Growth::Constant,
        Some("linear") => Growth::Linear,
        Some("decorrelated") => Growth::Decorrelated,
        _ => Growth::Exponential(behind(at(value, 0)?)?),
    };
    let jitter = match at(value, 1)?.as_str() {
        Some("none") => Jitter::None,
        Some("full") => Jitter::Full,
        Some("equal") => Jitter::Equal,
        _ => Jitter::Spread(behind(at(value, 1)?)?),
    };
    made(Backoff::new(growth, jitter, span(at(value, 2)?)?, span(at(value, 3)?)?))
}

/// The ratio after a word: `["exponential", 3, 2]`.
fn behind(value: &Value) -> Read<Ratio> {
    ratio(&Value::from(list(value)?.get(1..).unwrap_or_default()))
}

/// `[count, period]` or `[count, period, burst]`.
fn quota(value: &Value) -> Read<Quota> {
    let quota = made(Quota::per(number(at(value, 0)?)?, span(at(value, 1)?)?))?;
    match value.get(2) {
        Some(burst) => made(quota.with_burst(small(burst)?)),
        None => Ok(quota),
    }
}

fn law(value: &Value) -> Read<AnyLaw> {
    let quoted = value.get("quota").map_or(Ok(None), |value| given(value, quota))?;
    Ok(match text(field(value, "law")?)? {
        "adaptive" => {
            let law = quoted.map_or(Adaptive::DEFAULT, Adaptive::with_quota);
            match value.get("tolerance") {
                Some(share) => law.tolerance(ratio(share)?).into(),
                None => law.into(),
            }
        }
        "fixed" => quoted.map_or(Fixed::UNLIMITED, Fixed::new).into(),
        "aimd" => aimd(value)?.into(),
        "tchannel" => tchannel(value)?.into(),
        "aimd-concurrency" => aimd_concurrency(value)?.into(),
        "heroku" => heroku(value)?.into(),
        "autosleeper" => autosleeper(value)?.into(),
        // A law without settings.
        name => law_of(policy_of(name)?),
    })
}

/// Sets the fields of a configuration that the vector has.
macro_rules! set {
    ($config:ident, $value:ident, $($field:ident: $read:expr),*) => {
        for (key, value) in object($value)? {
            match &**key {
                $(stringify!($field) => $config.$field = $read(value)?,)*
                _ => {}
            }
        }
    };
}

pub(crate) fn positive<T: TryFrom<NonZeroU64>>(value: &Value) -> Read<T> {
    let positive = NonZeroU64::new(number(value)?).and_then(|number| number.try_into().ok());
    positive.ok_or_else(|| format!("{value} is zero or too large"))
}

fn aimd(value: &Value) -> Read<Aimd> {
    let mut config = AimdConfig::DEFAULT;
    let cooldown = |value: &Value| {
        let (base, most) = (span(at(value, 0)?)?, span(at(value, 1)?)?);
        Ok(AimdCooldown { base, most, discount: small(at(value, 2)?)? })
    };
    set!(config, value, start: quota, floor: quota, ceiling: quota, step: quota, every: small,
        keep: ratio, cooldown: |value| given(value, cooldown));
    made(Aimd::new(config))
}

fn tchannel(value: &Value) -> Read<Tchannel> {
    let mut config = TchannelConfig::DEFAULT;
    for (key, value) in object(value)? {
        match (&**key, value.as_str()) {
            ("most", _) => config.most = positive(value)?,
            ("rate", _) => config.recovery = Recovery::Rate(small(value)?),
            ("value", _) => config.recovery = Recovery::Value(small(value)?),
            ("over", Some("reject")) => config.over = Over::Reject,
            _ => {}
        }
    }
    made(Tchannel::new(config))
}

fn aimd_concurrency(value: &Value) -> Read<AimdConcurrency> {
    let mut config = AimdConcurrencyConfig::DEFAULT;
    set!(config, value, start: positive, most: positive, keep: ratio);
    made(AimdConcurrency::new(config))
}

fn strategy(value: &Value) -> Read<Strategy> {
    Ok(match value.as_str() {
        Some("exponential") => Strategy::Exponential,
        Some("proportional") => Strategy::Proportional,
        Some("remaining") => Strategy::Remaining,
        _ => Strategy::Gradual(span(at(value, 1)?)?),
    })
}

fn heroku(value: &Value) -> Read<Heroku> {
    let mut config = HerokuConfig::default();
    set!(config, value, strategy: strategy, start: span, add: span, times: ratio, floor: span,
        divisor: positive, jitter: ratio, spare_first: flag, once_per_event: flag,
        calm: |value| given(value, span));
    made(Heroku::new(config))
}

fn autosleeper(value: &Value) -> Read<Autosleeper> {
    let mut config = AutosleeperConfig::DEFAULT;
    set!(config, value, initial: span, most: span, up: ratio, down: ratio, threshold: small,
        spread: ratio, most_spread: span);
    made(Autosleeper::new(config))
}

/// Replays a policy, which is valid or rejected with a named error.
pub(crate) fn play(vector: &Value) -> Played {
    let asked = field(vector, "policy")?;
    let answer = match policy::<1>(asked) {
        Ok(_) => Value::Null,
        Err(error) => Value::from(error),
    };
    same("the policy's error", field(vector, "error")?, &answer).map(|()| 1)
}
