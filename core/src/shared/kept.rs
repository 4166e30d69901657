//! What a silent member keeps: the rate at which it may be calling without the coordinator. The coordinator and the
//! member count it in the same way.

use crate::fixed::mul_div_floor;
use crate::time::{Instant, Span};

/// The whole rate, of which members keep parts.
pub(super) const ALL: u32 = 1 << 16;

/// A silent member keeps its share for this long. This exceeds the time in which members return
/// after an outage ([`super::link::BACK_OFF_MOST`] and what a request may take).
const GRACE: Span = Span::from_secs(10);

/// The longest round trip during which a member's leases last.
const WAY: Span = Span::from_micros(62_500);

/// How far ahead of the clock leases are granted, for a heartbeat.
pub(super) fn lookahead(heartbeat: Span) -> Span {
    (heartbeat + heartbeat.halved(1)) + WAY
}

/// How long a silent member keeps its share, for a heartbeat.
pub(super) fn grace(heartbeat: Span) -> Span {
    GRACE.max(lookahead(heartbeat) * 2)
}

/// One lease in a [`Kept`].
const ONE: u32 = 1 << 8;

/// What a member was granted lately: a count of leases that fades with the grace period as its time constant, so that
/// a constant rate counts as the leases of one grace period.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) struct Kept {
    count: u32,
    /// When it was counted last, in [`Self::tick`]s.
    at: u32,
}

impl Kept {
    pub(super) const fn new(now: Instant) -> Self {
        Self { count: 0, at: Self::tick(now) }
    }

    /// An instant in units of 2^20 ns, about a millisecond. It repeats after 52 days: a coordinator has thousands of these.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a count that has not faded by then does no harm"
    )]
    const fn tick(now: Instant) -> u32 {
        (now.as_nanos() >> 20) as u32
    }

    /// Counts leases.
    pub(super) fn grant(&mut self, now: Instant, leases: u16, grace: Span) {
        let ticks = Self::tick(now).wrapping_sub(self.at).cast_signed().max(0);
        let since = Span::from_nanos(u64::from(ticks.unsigned_abs()) << 20);
        let left = (grace - since).as_nanos();
        let before = mul_div_floor(self.count.into(), left, grace.as_nanos());
        let before = u32::try_from(before).unwrap_or(u32::MAX);
        let count = before.saturating_add(u32::from(leases).saturating_mul(ONE));
        *self = Self { count, at: Self::tick(now) };
    }

    /// The interval between two calls at that rate. At least one call fits into the grace period.
    pub(super) fn interval(&self, grace: Span) -> Span {
        interval(self.count, grace)
    }

    /// The same for several members together.
    pub(super) fn all<'a>(kept: impl Iterator<Item = &'a Self>, grace: Span) -> Span {
        interval(kept.fold(0, |all: u32, one| all.saturating_add(one.count)), grace)
    }

    /// The part of [`ALL`] calls at this interval. Rounds up.
    pub(super) fn part(&self, interval: Span, grace: Span) -> u32 {
        let own = self.interval(grace).as_nanos();
        let part = mul_div_floor(interval.as_nanos(), ALL.into(), own).saturating_add(1);
        u32::try_from(part).unwrap_or(u32::MAX)
    }
}

fn interval(count: u32, grace: Span) -> Span {
    let nanos = mul_div_floor(grace.as_nanos(), ONE.into(), count.max(ONE).into());
    Span::from_nanos(nanos.saturating_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(millis: u64) -> Instant {
        Instant::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn a_constant_rate_is_kept_after_some_grace_periods_and_a_single_lease_once_in_one() {
        let grace = grace(Span::from_millis(500));
        let mut kept = Kept::new(at(0));
        kept.grant(at(0), 1, grace);
        assert_eq!(kept.interval(grace).as_millis(), 10_000);
        for beat in 1..=100 {
            kept.grant(at(beat * 500), 10, grace); // 20 a second
        }
        assert!((50..=51).contains(&kept.interval(grace).as_millis()), "{kept:?}");
        let part = kept.part(Span::from_millis(20), grace);
        assert!((ALL * 39 / 100..=ALL * 40 / 100).contains(&part), "{part} of {ALL}");
        assert_eq!(Kept::all([kept, kept].iter(), grace).as_millis(), 25);
        kept.grant(at(70_000), 1, grace);
        assert_eq!(kept.interval(grace).as_millis(), 10_000, "it has faded");
    }
}
