//! The retry budget: successes pay for retries.

use crate::config_error::ConfigError;
use crate::fixed::Ratio;

/// How many retries a success pays for, and how many can be saved.
///
/// Retries multiply load when a server is already overloaded. Once the reserve is spent, a retry
/// budget bounds the multiplication to `1 + per_success`, regardless of how many attempts a single
/// call may make. The idea is Finagle's `RetryBudget` and gRPC's retry throttling (gRFC A6).
///
/// ```
/// use tidegate::{ConfigError, Ratio, gate::RetryBudgetPolicy};
///
/// // A retry for every ten successes, ten of them to begin with:
/// assert!(RetryBudgetPolicy::new(Ratio::new(1, 10).unwrap(), 10).is_ok());
/// assert_eq!(RetryBudgetPolicy::new(Ratio::HALF, 0), Err(ConfigError::RetryBudgetReserve));
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct RetryBudgetPolicy {
    per_success: Ratio,
    reserve: u32,
}

impl RetryBudgetPolicy {
    /// `per_success` retries for each success, with at most `reserve` saved. The retry budget starts with its whole
    /// reserve.
    ///
    /// # Errors
    /// [`ConfigError::RetryBudgetReserve`] if `reserve` is zero, and [`ConfigError::RetryBudgetRatio`]
    /// if `per_success` is.
    pub const fn new(per_success: Ratio, reserve: u32) -> Result<Self, ConfigError> {
        if reserve == 0 {
            return Err(ConfigError::RetryBudgetReserve);
        }
        if per_success.numerator() == 0 {
            return Err(ConfigError::RetryBudgetRatio);
        }
        Ok(Self { per_success, reserve })
    }

    /// A retry costs the ratio's denominator and a success adds its numerator, so any ratio is
    /// exact. (Tower's budget counts whole tokens: its 40 % is 50 %.)
    const fn retry_cost(self) -> u64 {
        self.per_success.denominator() as u64
    }

    /// The most that it saves.
    pub(crate) const fn brim(self) -> u64 {
        self.retry_cost().saturating_mul(self.reserve as u64)
    }
}

/// Makes an entry in what the retry budget `saved`. Returns whether it allows a retry.
pub(crate) fn account(saved: &mut u64, policy: &RetryBudgetPolicy, entry: Entry) -> bool {
    let (most, cost) = (policy.brim(), policy.retry_cost());
    *saved = match entry {
        Entry::Open => most,
        Entry::Check => return *saved >= cost,
        Entry::Deposit => saved.saturating_add(policy.per_success.numerator().into()).min(most),
        Entry::Withdrawal => saved.saturating_sub(cost),
        Entry::Refund => saved.saturating_add(cost).min(most),
    };
    true
}

/// What happens to a retry budget.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Entry {
    /// A new retry budget.
    Open,
    /// A query: may a retry be sent?
    Check,
    /// A success.
    Deposit,
    /// A retry is sent.
    Withdrawal,
    /// A retry that was not sent.
    Refund,
}

/// [`account`], which only policies with a retry budget link.
pub(crate) type Account = fn(&mut u64, &RetryBudgetPolicy, Entry) -> bool;
