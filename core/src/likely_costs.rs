//! The cost of calls whose caller does not state it.

use crate::mean_cost::MeanCost;
use crate::queue::Ahead;
use crate::verdict::Call;

/// Learns what calls cost of each limit except the first, so that callers need not state it.
///
/// The first limit counts calls. The cost in another limit (tokens, points of GraphQL) is often
/// known only from the response. A frontend passes that cost to [`learn`](Self::learn), and polls
/// with the call that [`of`](Self::of) returns, in which a cost of zero is replaced by the mean of
/// earlier calls. [`Reply::using`](crate::Reply::using) then corrects it to the actual cost.
///
/// ```
/// use tidegate::{Call, LikelyCosts};
///
/// let mut likely = LikelyCosts::new();
/// let call = Call::of([1, 0]);
/// assert_eq!(likely.of(&call), call);
/// likely.learn([Some(1), Some(250)]);
/// assert_eq!(likely.of(&call), Call::of([1, 250]));
/// assert_eq!(likely.of(&Call::of([1, 900])), Call::of([1, 900]));
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct LikelyCosts<const LIMITS: usize> {
    means: [MeanCost; LIMITS],
}

impl<const LIMITS: usize> LikelyCosts<LIMITS> {
    /// Before the first response, a call costs what its caller states.
    #[must_use]
    pub const fn new() -> Self {
        Self { means: [MeanCost::UNKNOWN; LIMITS] }
    }

    /// Learns the `costs` of a call for each limit; `None` if unknown.
    pub fn learn(&mut self, costs: [Option<u32>; LIMITS]) {
        for (mean, cost) in self.means.iter_mut().zip(costs).skip(1) {
            if let Some(cost) = cost {
                mean.see(cost);
            }
        }
    }

    /// The same call with a cost of each limit of which one is known.
    #[must_use]
    pub fn of(&self, call: &Call<LIMITS>) -> Call<LIMITS> {
        let mut call = *call;
        for (cost, mean) in call.costs.iter_mut().zip(&self.means) {
            if *cost == 0 {
                *cost = mean.whole();
            }
        }
        call
    }

    /// The same calls before another, which a [`Queue`](crate::queue::Queue) counts by what their callers said.
    #[must_use]
    pub fn ahead(&self, ahead: &[Ahead; LIMITS]) -> [Ahead; LIMITS] {
        let mut all = *ahead;
        let calls = all.first().map_or(0, |first| first.calls);
        for (ahead, mean) in all.iter_mut().zip(&self.means) {
            let unstated = if mean.whole() > 0 { calls.saturating_sub(ahead.calls) } else { 0 };
            ahead.calls = ahead.calls.saturating_add(unstated);
            let cost = u64::from(unstated).wrapping_mul(mean.whole().into());
            ahead.cost = ahead.cost.saturating_add(cost);
        }
        all
    }
}

impl<const LIMITS: usize> Default for LikelyCosts<LIMITS> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_of_about_sixteen_calls_is_what_a_call_is_likely_to_cost() {
        let mut likely = LikelyCosts::<2>::new();
        likely.learn([Some(7), None]);
        assert_eq!(likely.of(&Call::of([1, 0])), Call::of([1, 0]), "the first limit counts calls");
        likely.learn([None, Some(100)]);
        for _ in 0..16 {
            likely.learn([None, Some(200)]);
        }
        let cost = likely.of(&Call::of([1, 0])).cost_of(1);
        assert!((155..175).contains(&cost), "{cost}");
        for _ in 0..200 {
            likely.learn([None, Some(40)]);
        }
        assert!(likely.of(&Call::of([0, 0])).cost_of(1).abs_diff(40) <= 1);
        likely.learn([None, Some(u32::MAX)]);
        assert!(likely.of(&Call::of([1, 0])).cost_of(1) > 1 << 23);
    }

    #[test]
    fn calls_that_wait_count_at_their_likely_cost() {
        let mut likely = LikelyCosts::<2>::new();
        let waiting = [Ahead { calls: 5, cost: 5 }, Ahead { calls: 2, cost: 900 }];
        assert_eq!(likely.ahead(&waiting), waiting);
        likely.learn([None, Some(20)]);
        assert_eq!(likely.ahead(&waiting), [waiting[0], Ahead { calls: 5, cost: 960 }]);
    }
}
