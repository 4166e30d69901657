//! The cost of calls whose caller does not state it.

use super::limit::Limit;
use crate::costs::Costs;
use crate::law::Law;
use crate::mean_cost::MeanCost;
use crate::permit::Part;
use crate::queue::Ahead;
use crate::rate::Quota;
use crate::verdict::Call;

/// The mean cost for each limit except the first. Stored beside the limits, where a controller with one limit has
/// padding.
#[derive(Clone, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) struct Usual<const LIMITS: usize>(pub(super) [MeanCost; LIMITS]);

impl<const LIMITS: usize> Usual<LIMITS> {
    pub(super) const UNKNOWN: Self = Self([MeanCost::UNKNOWN; LIMITS]);

    /// What a call costs of the limit with this index: as stated, or what such calls use.
    #[inline(always)]
    pub(super) fn cost_of<L: Law, C: Costs<LIMITS>>(
        &self,
        index: usize,
        (law, limit): (&L, &Limit<L::State>),
        call: &Call<LIMITS, C>,
    ) -> u32 {
        let stated = call.costs.of(index);
        if is_unstated(index, call) { stated.max(self.of(index, law, limit)) } else { stated }
    }

    /// The mean, as far as it fits into a burst; zero if it is not known.
    fn of<L: Law>(&self, index: usize, law: &L, limit: &Limit<L::State>) -> u32 {
        let most = limit.quota(law).map_or(u32::MAX, Quota::burst);
        self.0.get(index).map_or(0, |mean| mean.whole()).min(most)
    }

    /// Learns what a call used whose cost was not stated, once.
    pub(super) fn learn(&mut self, index: usize, part: &mut Part, used: u32) {
        if index > 0
            && part.unstated
            && let Some(mean) = self.0.get_mut(index)
        {
            mean.see(used);
            part.unstated = false;
        }
    }

    /// The cost of the calls `ahead` of another. Those whose cost is not stated count at the mean.
    pub(super) fn ahead<L: Law>(
        &self,
        index: usize,
        (law, limit): (&L, &Limit<L::State>),
        ahead: &[Ahead; LIMITS],
    ) -> Ahead {
        let mut ahead = ahead.get(index).copied().unwrap_or_default();
        if index == 0 {
            return ahead;
        }
        let usual = self.of(index, law, limit);
        if usual > 0 {
            let unstated = core::mem::take(&mut ahead.unstated);
            // Until the mean is known, each of them costs 0 or 1.
            let least = unstated.min(ahead.calls);
            let cost = u64::from(unstated).wrapping_mul(usual.into());
            ahead.calls = ahead.calls.saturating_sub(least).saturating_add(unstated);
            ahead.cost = ahead.cost.saturating_sub(least.into()).saturating_add(cost);
        }
        ahead
    }
}

/// Whether the call's cost of a limit stands for the mean that the controller has learned.
pub(super) fn is_unstated<const LIMITS: usize, C: Costs<LIMITS>>(
    index: usize,
    call: &Call<LIMITS, C>,
) -> bool {
    index > 0 && call.estimated && call.costs.of(index) <= 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::Fixed;
    use crate::time::Instant;

    #[test]
    fn calls_ahead_count_at_the_mean_unless_they_state_their_cost() {
        let usual = Usual([MeanCost::UNKNOWN, MeanCost(50 << 4)]);
        let (law, limit) = (Fixed::UNLIMITED, Limit::new(&Fixed::UNLIMITED, Instant::ZERO));
        for (calls, cost, unstated, expected) in [
            (0, 0, 3, (3, 150)), // a cost of 0
            (3, 3, 3, (3, 150)), // a cost of 1
            (3, 202, 2, (3, 300)),
            (3, 90, 0, (3, 90)),
            (3, 3, 0, (3, 3)),
            (0, 0, 0, (0, 0)),
        ] {
            let stated = Ahead { calls, cost, unstated };
            let ahead = [Ahead { calls: 3, cost: 3, unstated }, stated];
            assert_eq!(usual.ahead(0, (&law, &limit), &ahead), ahead[0]);
            let second = usual.ahead(1, (&law, &limit), &ahead);
            assert_eq!((second.calls, second.cost), expected, "{stated:?}");
        }
    }
}
