//! Exact rate limits for the servers of tests. They know nothing of tidegate, so it is not measured with itself.
//!
//! Times are nanoseconds from any epoch, and arguments. A time that steps back counts as the latest one. Answers
//! describe a limit at the time of its last [`fits`](Limit::fits), including what was charged since.

mod bucket;
mod concurrency;
mod sliding;
mod window;

pub use bucket::Bucket;
pub use concurrency::Concurrency;
pub use sliding::Sliding;
pub use window::Window;

pub trait Limit {
    /// Whether a call of this cost fits at `now`.
    fn fits(&mut self, now: u64, cost: u64) -> bool;

    fn charge(&mut self, cost: u64);

    /// Charges a call if it fits, and returns whether it does.
    fn take(&mut self, now: u64, cost: u64) -> bool {
        let fits = self.fits(now, cost);
        if fits {
            self.charge(cost);
        }
        fits
    }

    /// The most that can remain.
    fn most(&self) -> u64;

    fn remaining(&self) -> u64;

    /// Nanoseconds until [`most`](Self::most) remains, or until the end of a fixed window. The largest number if that
    /// never happens.
    fn reset(&self) -> u64;

    /// Nanoseconds until a call of this cost fits. The largest number if it never does.
    fn retry_after(&self, cost: u64) -> u64;
}

#[derive(Clone, Debug)]
pub enum Any {
    Bucket(Bucket),
    Window(Window),
    Sliding(Sliding),
    Concurrency(Concurrency),
}

impl std::ops::Deref for Any {
    type Target = dyn Limit;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Bucket(limit) => limit,
            Self::Window(limit) => limit,
            Self::Sliding(limit) => limit,
            Self::Concurrency(limit) => limit,
        }
    }
}

impl std::ops::DerefMut for Any {
    fn deref_mut(&mut self) -> &mut Self::Target {
        match self {
            Self::Bucket(limit) => limit,
            Self::Window(limit) => limit,
            Self::Sliding(limit) => limit,
            Self::Concurrency(limit) => limit,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::test_runner::TestCaseResult;

    /// An admitted call: its time and its cost.
    type Call = (u64, u64);

    /// Calls with these gaps and costs are admitted exactly if `allows` says so, which gets the admitted calls and
    /// the new one. A rejected call fits as soon as the limit says, and not earlier.
    fn follows(
        mut limit: impl Limit + Clone,
        calls: Vec<(u64, u64)>,
        allows: impl Fn(&[Call], Call) -> bool,
    ) -> TestCaseResult {
        let (mut admitted, mut now) = (Vec::new(), 0);
        for (gap, cost) in calls {
            now += gap;
            let allowed = allows(&admitted, (now, cost));
            prop_assert_eq!(limit.take(now, cost), allowed, "{} at {}: {:?}", cost, now, &admitted);
            if allowed {
                admitted.push((now, cost));
            } else if cost > limit.most() {
                prop_assert_eq!(limit.retry_after(cost), u64::MAX);
            } else {
                let wait = limit.retry_after(cost);
                prop_assert!(!limit.clone().fits(now + wait - 1, cost), "after {} ns", wait - 1);
                prop_assert!(limit.clone().fits(now + wait, cost), "not after {} ns", wait);
            }
            let (left, full) = (limit.remaining(), limit.most());
            // A time that steps back counts as the latest one.
            prop_assert!(limit.clone().fits(0, left) && !limit.clone().fits(0, left + 1));
            let reset = now + limit.reset();
            prop_assert!(limit.clone().fits(reset, full), "not full by its reset");
            prop_assert!(left == full || !limit.clone().fits(reset - 1, full), "full before");
        }
        Ok(())
    }

    fn calls() -> impl Strategy<Value = Vec<(u64, u64)>> {
        prop::collection::vec((prop_oneof![Just(0), 1u64..40, 1u64..2_000], 1u64..6), 1..80)
    }

    fn used(admitted: &[Call], since: impl Fn(u64) -> bool) -> u64 {
        admitted.iter().filter(|call| since(call.0)).map(|call| call.1).sum()
    }

    proptest! {
        #[test]
        fn a_bucket_admits_what_fits_into_its_burst_and_its_rate_in_every_period(
            (limit, period, burst) in (1u64..50, 1u64..2_000, 1u64..20), calls in calls(),
        ) {
            follows(Bucket::new(limit, period, burst), calls, |admitted, (now, cost)| {
                let starts = admitted.iter().map(|call| call.0).chain([now]);
                starts.into_iter().all(|start| {
                    let all = used(admitted, |at| at >= start) + cost;
                    all * period <= burst * period + limit * (now - start)
                })
            })?;
        }

        #[test]
        fn a_window_admits_its_limit_between_two_resets(
            (limit, period, phase) in (1u64..50, 1u64..2_000, 0u64..2_000), calls in calls(),
        ) {
            let number = |at: u64| (at + phase % period) / period;
            follows(Window::new(limit, period).at_phase(phase % period), calls, |admitted, (now, cost)| {
                used(admitted, |at| number(at) == number(now)) + cost <= limit
            })?;
        }

        #[test]
        fn a_sliding_window_admits_its_limit_in_every_period(
            (limit, period) in (1u64..50, 1u64..2_000), calls in calls(),
        ) {
            follows(Sliding::new(limit, period), calls, |admitted, (now, cost)| {
                used(admitted, |at| at + period > now) + cost <= limit
            })?;
        }

        #[test]
        fn a_concurrency_limit_admits_a_call_exactly_if_there_is_a_place(
            limit in 1u64..10, steps in prop::collection::vec((any::<bool>(), 1u64..4), 1..80),
        ) {
            let (mut places, mut inside) = (Concurrency::new(limit, 100), Vec::new());
            for (comes, cost) in steps {
                if comes {
                    let fits = inside.iter().sum::<u64>() + cost <= limit;
                    prop_assert_eq!(places.take(0, cost), fits);
                    inside.extend(fits.then_some(cost));
                } else if let Some(cost) = inside.pop() {
                    places.leave(cost);
                }
                prop_assert_eq!(places.remaining(), limit - inside.iter().sum::<u64>());
            }
        }
    }
}
