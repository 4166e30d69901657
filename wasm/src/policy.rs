//! Reads a policy from a row of numbers, where NaN stands for the default.

use core::num::NonZeroU16;

use tidegate::backoff::{Backoff, Growth, Jitter};
use tidegate::gate::RetryBudgetPolicy;
use tidegate::law::{Adaptive, Fixed};
use tidegate::{Policy, Ratio, Span};

use crate::Law;
use crate::number::{count, quota, span};

/// Numbers per limit: the law's number, and its quota: see [`quota`].
const PER_LIMIT: usize = 4;

/// Number of limits in a row: requests and tokens.
const ROWS: usize = 2;

/// Length of a row. The same buffer returns the counters, which are fewer.
pub const WORDS: usize = PER_LIMIT * ROWS + 11;

/// The policy of a row for the first of its limits and for `places` places, and how many of these
/// may be taken; `None` if a number is invalid.
pub fn policy<const LIMITS: usize>(
    row: &[f64; WORDS],
    places: u16,
) -> Option<(Policy<Law, LIMITS>, u16)> {
    let (limits, gates) = row.split_first_chunk::<{ PER_LIMIT * ROWS }>()?;
    let &[at_once, _, ceiling, base, most, attempts, elapsed, per_cent, reserve, tolerance, gap] =
        gates
    else {
        return None;
    };
    let (rows, _) = limits.as_chunks::<PER_LIMIT>();
    let named = named(count(rows.first()?[0]))?;
    let tolerance =
        if tolerance.is_nan() { None } else { Ratio::new(count(tolerance * 4096.0), 4096) };
    let mut laws = [Law::from(Fixed::UNLIMITED); LIMITS];
    for (law, row) in laws.iter_mut().zip(rows) {
        *law = of_limit(named.laws(), row, tolerance)?;
    }
    let mut policy = named.limits(laws);
    if let Some(ceiling) = span(ceiling) {
        policy = policy.ceiling(ceiling).ok()?;
    }
    if let (base, most) = (span(base), span(most))
        && (base, most) != (None, None)
    {
        let base = base.unwrap_or(Span::from_millis(100));
        let most = most.unwrap_or(Span::from_secs(20));
        let doubling = Growth::Exponential(Ratio::new(2, 1)?);
        policy = policy.backoff(Some(Backoff::new(doubling, Jitter::Full, base, most).ok()?));
    }
    let at_once = match (at_once.is_nan(), gap.is_nan()) {
        (false, _) => small(at_once).min(places),
        (true, true) => places,
        (true, false) => 1,
    };
    let concurrency = NonZeroU16::new(at_once)?;
    if expiry(row) == Span::ZERO {
        return None;
    }
    let retry_budget =
        match per_cent.is_nan() || cfg!(not(any(feature = "gate", feature = "shared"))) {
            true => None,
            false => Some(
                RetryBudgetPolicy::new(Ratio::new(count(per_cent), 100)?, count(reserve)).ok()?,
            ),
        };
    if !attempts.is_nan() {
        policy = policy.attempts(NonZeroU16::new(small(attempts)));
    }
    let policy = policy.concurrency(concurrency).retry_budget(retry_budget).elapsed(span(elapsed));
    Some((policy, at_once))
}

pub fn expiry(row: &[f64; WORDS]) -> Span {
    span(row[PER_LIMIT * ROWS + 1]).unwrap_or(Span::from_secs(300))
}

#[cfg(feature = "lite")]
/// The pause from the end of a call to the start of the next one in its place. Without a concurrency limit, there is one.
pub fn gap(row: &[f64; WORDS]) -> Span {
    span(row[WORDS - 1]).unwrap_or(Span::ZERO)
}

/// A count of sixteen bits; saturates.
fn small(number: f64) -> u16 {
    number as u16
}

/// The law of a limit: the policy's, with the limit's own quota if it has one.
fn of_limit(
    [named]: [Law; 1],
    &[law, calls, period, burst]: &[f64; PER_LIMIT],
    tolerance: Option<Ratio>,
) -> Option<Law> {
    let quota = if period.is_nan() { None } else { Some(quota(calls, period, burst)?) };
    Some(match (count(law), quota) {
        (ADAPTIVE, quota) => {
            let law = quota.map_or(Adaptive::DEFAULT, Adaptive::with_quota);
            tolerance.map_or(law, |share| law.tolerance(share)).into()
        }
        (FIXED, quota) => quota.map_or(Fixed::UNLIMITED, Fixed::new).into(),
        _ => named,
    })
}

/// The position in `Policy::NAMES`, which is the number of a law in a row.
const ADAPTIVE: u32 = 0;
const FIXED: u32 = 1;

#[cfg(any(feature = "full", feature = "shared"))]
fn named(number: u32) -> Option<Policy<Law>> {
    Policy::named(Policy::NAMES.get(number as usize)?)
}

/// The policy with this number, without the code of laws that the small module lacks.
#[cfg(not(any(feature = "full", feature = "shared")))]
fn named(number: u32) -> Option<Policy<Law>> {
    let unlimited = Policy::new(Law::from(Fixed::UNLIMITED));
    match number {
        ADAPTIVE => Some(Policy::adaptive().limits([Adaptive::DEFAULT.into()])),
        2 => Some(unlimited.backoff(None)),
        FIXED | 3 => Some(unlimited),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use tidegate::law::AnyLaw;

    use super::*;

    #[cfg(any(feature = "full", feature = "shared"))]
    fn any([law]: [Law; 1]) -> AnyLaw {
        law
    }

    #[cfg(not(any(feature = "full", feature = "shared")))]
    fn any([law]: [Law; 1]) -> AnyLaw {
        match law {
            Law::Adaptive(law) => law.into(),
            Law::Fixed(law) => law.into(),
        }
    }

    #[test]
    fn a_row_with_only_a_law_is_the_policy_of_core() {
        let mut known = 0;
        for (number, name) in (0..).zip(Policy::NAMES) {
            let mut row = [f64::NAN; WORDS];
            row[0] = f64::from(number);
            let Some((policy, _)) = policy::<1>(&row, u16::MAX) else { continue };
            let law = any(policy.laws());
            // Without a quota in the row, core's `fixed` has its default.
            let core = Policy::named(name).unwrap();
            let core = if number == FIXED { core.limits([law]) } else { core };
            assert_eq!(policy.limits([law]), core, "{name}");
            known += 1;
        }
        let small = cfg!(not(any(feature = "full", feature = "shared")));
        assert_eq!(known, if small { 4 } else { Policy::NAMES.len() });
    }
}
