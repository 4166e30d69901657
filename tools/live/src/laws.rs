//! The laws for callers of an API that counts calls and tokens.

use anyhow::{Context, Result};
use tidegate::Policy;
use tidegate::law::AnyLaw;

/// The laws that have a policy for calls and tokens.
pub const OF_SEVERAL_LIMITS: [&str; 2] = ["none", "adaptive"];

pub fn of_calls_and_tokens(law: &str) -> Result<Policy<AnyLaw, 2>> {
    let policy = Policy::named(law).filter(|_| OF_SEVERAL_LIMITS.contains(&law));
    let policy = policy.with_context(|| format!("the law {law} has no policy for two limits"))?;
    let [law] = policy.laws();
    Ok(policy.limits([law; 2]))
}
