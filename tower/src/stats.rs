//! The counters of a gate.

use std::time::Duration;

use tidegate::law::Basis;

/// The counters and the current state of a gate, over all keys.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Stats {
    /// The counters of all controllers, including those of evicted keys.
    pub counts: tidegate::Stats,
    /// Keys in the table.
    pub keys: usize,
    /// Calls in the queues. A retry is in no queue during its backoff.
    pub waiting: usize,
    /// Calls in flight.
    pub in_flight: usize,
    /// The law's current time between two calls: the longest of all keys. `None` if no key is
    /// paced.
    pub interval: Option<Duration>,
    /// What the rate of `adaptive` is based on: the maximum over all keys and limits. `None` for other laws, and before
    /// the first call.
    pub basis: Option<Basis>,
    /// The leases of budgets that processes [share](crate::Builder::share).
    #[cfg(feature = "local")]
    pub sharing: crate::local::SharingStats,
}

impl Stats {
    pub(crate) fn add(&mut self, other: &Self) {
        add(&mut self.counts, &other.counts);
        self.keys += other.keys;
        self.waiting += other.waiting;
        self.in_flight += other.in_flight;
        self.interval = self.interval.max(other.interval);
        self.basis = self.basis.max(other.basis);
        #[cfg(feature = "local")]
        self.sharing.add(&other.sharing);
    }
}

/// Adds the counters of one controller to a sum.
pub(crate) fn add(sum: &mut tidegate::Stats, one: &tidegate::Stats) {
    sum.waited += one.waited;
    macro_rules! add {
        ($($counter:ident)*) => { $(sum.$counter = sum.$counter.saturating_add(one.$counter);)* };
    }
    add!(admitted waits full rejected ok throttled busy failed abandoned exhausted slower faster retries);
}
