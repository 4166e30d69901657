//! A policy that arrives as a row of numbers, where NaN stands for "as usual".

use core::num::NonZeroU16;

use tidegate::backoff::{Backoff, Growth, Jitter};
use tidegate::gate::{BudgetPolicy, HoldPolicy, WindowPolicy};
use tidegate::law::{Adaptive, Fixed};
use tidegate::{Policy, Quota, Ratio, Span};

use crate::Law;
use crate::number::{count, span};

/// What a row says of each limit: the law's number, and its quota as calls, period and burst.
const PER_LIMIT: usize = 4;

/// How many limits a row tells of: requests and tokens.
const ROWS: usize = 2;

/// How many numbers a row has. The last is not of a policy: where counters come back there are as many.
pub const WORDS: usize = PER_LIMIT * ROWS + 10;

/// The policy of a row for the first of its limits and for so many `places`, and how many of these it
/// lets be taken; `None` where a number is not possible.
pub fn policy<const LIMITS: usize>(
    row: &[f64; WORDS],
    places: usize,
) -> Option<(Policy<Law, LIMITS>, u16)> {
    let (limits, gates) = row.split_first_chunk::<{ PER_LIMIT * ROWS }>()?;
    let &[at_once, lease, ceiling, base, most, attempts, elapsed, per_cent, reserve, _] = gates
    else {
        return None;
    };
    let mut laws = [Law::from(Fixed::UNLIMITED); LIMITS];
    for (law, row) in laws.iter_mut().zip(limits.as_chunks::<PER_LIMIT>().0) {
        *law = named(row)?;
    }
    // What a law delays by itself needs no backoff of each call beside it.
    let patient = matches!(limits.first().map(|law| count(*law)), Some(0 | 2 | 8 | 10..=12));
    let spread = if patient { Ratio::ZERO } else { Ratio::new(1, 8)? };
    let backoff = match (span(base), span(most)) {
        (None, None) if patient => None,
        (base, most) => {
            let base = base.unwrap_or(Span::from_millis(100));
            let most = most.unwrap_or(Span::from_secs(20));
            let doubling = Growth::Exponential(Ratio::new(2, 1)?);
            Some(Backoff::new(doubling, Jitter::Full, base, most).ok()?)
        }
    };
    let usual = WindowPolicy::DEFAULT;
    let places = places as u16;
    let at_once = if at_once.is_nan() { places } else { small(at_once).min(places) };
    let window = WindowPolicy::new(at_once, span(lease).unwrap_or(usual.lease())).ok()?;
    let hold = HoldPolicy::new(span(ceiling).unwrap_or(HoldPolicy::DEFAULT.ceiling()), spread);
    let budget = match per_cent.is_nan() {
        true => None,
        false => Some(BudgetPolicy::new(Ratio::new(count(per_cent), 100)?, count(reserve)).ok()?),
    };
    let policy = Policy::of(laws)
        .hold(hold.ok()?)
        .window(window)
        .budget(budget)
        .backoff(backoff)
        .attempts(NonZeroU16::new(small(attempts)))
        .elapsed(span(elapsed));
    Some((policy, at_once))
}

/// A count of sixteen bits; saturates.
fn small(number: f64) -> u16 {
    number as u16
}

/// The law of a number, which is its place among the names in TypeScript.
fn named(&[law, calls, period, burst]: &[f64; PER_LIMIT]) -> Option<Law> {
    let quota = match span(period) {
        None => None,
        Some(period) => Some(Quota::per(calls as u64, period).ok()?),
    };
    let quota = match quota {
        Some(quota) if !burst.is_nan() => Some(quota.with_burst(count(burst)).ok()?),
        quota => quota,
    };
    Some(match count(law) {
        0 => quota.map_or(Adaptive::DEFAULT, Adaptive::with_quota).into(),
        1 => quota.map_or(Fixed::UNLIMITED, Fixed::new).into(),
        2 | 3 => Fixed::UNLIMITED.into(),
        #[cfg(any(feature = "laws", feature = "shared"))]
        other => return other_laws(other),
        #[cfg(not(any(feature = "laws", feature = "shared")))]
        _ => return None,
    })
}

#[cfg(any(feature = "laws", feature = "shared"))]
fn other_laws(law: u32) -> Option<Law> {
    use tidegate::law::{
        Aimd, Busy, Crowd, Cubic, Proportional, ProportionalConfig, Responsive, Strategy, Vegas,
    };
    let gem = |strategy| Proportional::new(ProportionalConfig::gem(strategy)).ok();
    Some(match law {
        4 => Aimd::DEFAULT.into(),
        5 => Crowd::DEFAULT.into(),
        6 => Vegas.into(),
        7 => Busy::DEFAULT.into(),
        8 => Responsive::DEFAULT.into(),
        9 => Cubic.into(),
        10 => gem(Strategy::Gradual(Span::from_millis(800)))?.into(),
        11 => gem(Strategy::Proportional)?.into(),
        12 => gem(Strategy::Remaining)?.into(),
        _ => return None,
    })
}
