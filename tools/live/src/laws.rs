//! The laws for callers of an API that counts calls and tokens.

use anyhow::{Context, Result};
use tidegate::Policy;
use tidegate::law::AnyLaw;

/// The laws of which there is a policy for calls and tokens.
pub const OF_SEVERAL_LIMITS: [&str; 2] = ["none", "adaptive"];

/// The policy of a name for two limits.
pub fn of_calls_and_tokens(law: &str) -> Result<Policy<AnyLaw, 2>> {
    let policy = Policy::named(law).filter(|_| OF_SEVERAL_LIMITS.contains(&law));
    let policy = policy.context("there is no such law for two limits")?;
    let [law] = policy.laws();
    Ok(policy.limits([law; 2]))
}
