//! The laws for callers of an API that counts calls and tokens.

use anyhow::{Result, bail};
use tidegate::gate::HoldPolicy;
use tidegate::law::{Adaptive, AnyLaw, Fixed};
use tidegate::{Policy, Ratio};

/// The laws of which there is a policy for calls and tokens.
pub const OF_SEVERAL_LIMITS: [&str; 2] = ["none", "adaptive"];

/// The policy of a name for two limits.
pub fn of_calls_and_tokens(law: &str) -> Result<Policy<AnyLaw, 2>> {
    let exact = HoldPolicy::new(HoldPolicy::DEFAULT.ceiling(), Ratio::ZERO)?;
    Ok(match law {
        "adaptive" => Policy::of([AnyLaw::from(Adaptive::DEFAULT); 2]).backoff(None).hold(exact),
        "none" => Policy::of([AnyLaw::from(Fixed::UNLIMITED); 2]).backoff(None),
        _ => bail!("there is no such law for two limits"),
    })
}
