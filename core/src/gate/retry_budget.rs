//! The retry budget: successes pay for retries.

use crate::config_error::ConfigError;
use crate::fixed::Ratio;
use crate::snapshot::fields;

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

/// Counts what successes have paid for.
#[derive(Clone, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(crate) struct RetryBudget {
    saved: u64,
}

impl RetryBudget {
    /// A retry budget with its whole reserve.
    pub(crate) const fn new(policy: RetryBudgetPolicy) -> Self {
        Self { saved: policy.brim() }
    }

    /// Whether a retry may be sent.
    pub(crate) const fn check(&self, policy: RetryBudgetPolicy) -> bool {
        self.saved >= policy.retry_cost()
    }

    /// Adds the deposit of a success, up to the reserve.
    pub(crate) const fn deposit(&mut self, policy: RetryBudgetPolicy) {
        self.add(policy, policy.per_success.numerator() as u64);
    }

    const fn add(&mut self, policy: RetryBudgetPolicy, amount: u64) {
        let saved = self.saved.saturating_add(amount);
        self.saved = if saved < policy.brim() { saved } else { policy.brim() };
    }

    /// Charges a retry. Call [`check`](Self::check) first: if less than a retry is left, nothing is
    /// left afterwards.
    pub(crate) const fn withdraw(&mut self, policy: RetryBudgetPolicy) {
        self.saved = self.saved.saturating_sub(policy.retry_cost());
    }

    /// Makes an entry. Returns whether it allows a retry.
    pub(crate) fn account(saved: &mut u64, policy: &RetryBudgetPolicy, entry: Entry) -> bool {
        let (policy, mut budget) = (*policy, Self { saved: *saved });
        match entry {
            Entry::Open => budget = Self::new(policy),
            Entry::Check => return budget.check(policy),
            Entry::Deposit => budget.deposit(policy),
            Entry::Withdrawal => budget.withdraw(policy),
            Entry::Refund => budget.add(policy, policy.retry_cost()),
        }
        *saved = budget.saved;
        true
    }
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

/// [`RetryBudget::account`], which only policies with a retry budget link.
pub(crate) type Account = fn(&mut u64, &RetryBudgetPolicy, Entry) -> bool;

fields!(RetryBudget { saved: u64 });
