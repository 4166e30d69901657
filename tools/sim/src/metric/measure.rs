//! Computes metrics from counters.

use std::ops::Range;

use tidegate::{Instant, Span};

use super::tally::{Tally, ThreadTally};
use super::{Metrics, deviation, jain, share};
use crate::scenario::{Clients, Demand, Scenario};
use crate::server::{Server, Strangers, seconds};

/// The convergence metrics that every report has.
pub(super) const CONVERGENCES: [&str; 3] = ["recovery_s", "up_s", "down_s"];

impl Tally {
    /// The metrics of a run of `scenario` that ended at `now`.
    pub fn metrics(
        &self,
        scenario: &Scenario,
        server: &Server,
        now: Instant,
        lost: u64,
    ) -> Metrics {
        let view = View { tally: self, scenario, server };
        let counted = self.threads.iter().filter(|thread| thread.counted);
        let (served, bad) = counted.fold((0, 0), |sum, thread| {
            (sum.0 + u64::from(thread.served), sum.1 + u64::from(thread.bad))
        });
        let bins = view.bin_of(now - Instant::ZERO);
        let second_half = view.sums(bins / 2..bins);
        let (half, end) = (view.start_of(bins / 2), view.start_of(bins));
        let fixed = scenario.groups().any(|group| matches!(group.demand, Demand::Work(_)));
        let stopped =
            scenario.stop_at_remaining.is_some() && now < scenario.end.get_ref().instant();
        let ended = self.done.or(stopped.then_some(now));

        let mut all = Metrics::default();
        all.add("util", view.util(now));
        all.add("throttled", share(bad as f64, (served + bad) as f64));
        let flow = server.flow(half, end, scenario.offered);
        all.add("ss_util", used(second_half.served, flow));
        all.add("ss_throttled", share(second_half.bad, second_half.all()));
        all.add("jain_process", jain(view.served_by_process()));
        let workers = || self.threads.iter().filter(|thread| thread.under_test);
        let present = self.threads.iter().filter(|thread| thread.always);
        all.add("jain_worker", jain(present.map(|thread| f64::from(thread.served))));
        let taken = self.done.filter(|_| fixed).map(|done| seconds(Instant::ZERO, done));
        all.add("time_over_limit", taken.and_then(|taken| share(taken, view.fair_time()?)));
        all.add("throttles", Some(bad as f64));
        all.add("wait_p50_ms", self.waits.quantile(0.5));
        all.add("wait_p99_ms", self.waits.quantile(0.99));
        all.add("wait_max_ms", self.waits.longest());
        all.add("latency_p50_ms", self.latencies.quantile(0.5));
        all.add("latency_p99_ms", self.latencies.quantile(0.99));
        all.add("latency_mean_ms", self.latencies.mean());
        let stays = server.limit().queues().then_some(&self.stays);
        all.add("server_p50_ms", stays.and_then(|stays| stays.quantile(0.5)));
        all.add("server_p99_ms", stays.and_then(|stays| stays.quantile(0.99)));
        all.add("peak_1s", Some(f64::from(self.peak.most)));
        for name in CONVERGENCES {
            all.add(name, view.converged(name));
        }
        all.add("lost", Some(lost as f64));
        all.add("time_s", ended.map(|ended| seconds(Instant::ZERO, ended)));
        let totals: Vec<f64> = workers().map(|t| f64::from(t.served + t.bad)).collect();
        all.add("stdev_worker", deviation(&totals));
        all.add("calls", Some(self.calls() as f64));
        view.add_asked(&mut all);
        all
    }
}

/// The share of a supply that was used. What a burst takes beyond the supply of a time does not
/// count.
pub(super) fn used(served: f64, supply: f64) -> Option<f64> {
    share(served.min(supply), supply)
}

pub(super) struct View<'a> {
    pub(super) tally: &'a Tally,
    pub(super) scenario: &'a Scenario,
    pub(super) server: &'a Server,
}

pub(super) struct Sums {
    pub(super) served: f64,
    pub(super) bad: f64,
}

impl Sums {
    pub(super) fn all(&self) -> f64 {
        self.served + self.bad
    }
}

impl View<'_> {
    pub(super) fn width(&self) -> Span {
        self.scenario.bin.get_ref().span()
    }

    pub(super) fn bin_of(&self, since_start: Span) -> usize {
        (since_start.as_nanos() / self.width().as_nanos()) as usize
    }

    fn start_of(&self, bin: usize) -> Instant {
        Instant::ZERO + self.width() * bin as u64
    }

    pub(super) fn sums(&self, bins: Range<usize>) -> Sums {
        let sum = |counts: &[u32]| counts[bins.clone()].iter().copied().map(f64::from).sum();
        Sums { served: sum(&self.tally.served), bad: sum(&self.tally.bad) }
    }

    /// The share of the server's supply that was used. Of a fixed window that the run covers in
    /// part, the supply is that part of the limit, and calls beyond it do not count: they are
    /// borrowed from the time that the run does not cover.
    fn util(&self, now: Instant) -> Option<f64> {
        let Self { tally, scenario, server } = *self;
        let (from, offered) = (scenario.measure_from.instant(), scenario.offered);
        let windows =
            server.limit().windows().filter(|_| offered.is_none() && server.nodes() == 1.0);
        let Some((_, width, _)) = windows else {
            return used(tally.all_served as f64, server.capacity(from, now, offered));
        };
        let counts = tally.by_window.iter().map(|&(ends, served)| {
            let begins = Instant::ZERO + ((ends - Instant::ZERO) - width);
            (served as f64).min(server.flow(begins.max(from), ends.min(now), None))
        });
        used(counts.sum(), server.flow(from, now, None))
    }

    /// Calls served per process under test that is always present.
    fn served_by_process(&self) -> impl Iterator<Item = f64> {
        let mut last = None;
        let mut all: Vec<f64> = Vec::new();
        for thread in self.tally.threads.iter().filter(|thread| thread.always) {
            let ThreadTally { process, served, .. } = *thread;
            if last.replace(process) != Some(process) {
                all.push(0.0);
            }
            if let Some(sum) = all.last_mut() {
                *sum += f64::from(served);
            }
        }
        all.into_iter()
    }

    /// The time that the fixed work takes if the clients under test share the server evenly and
    /// strangers get all they request. `None` if it never ends.
    fn fair_time(&self) -> Option<f64> {
        let own = self.scenario.groups().filter(|group| !group.are_strangers());
        let workers: f64 = own.map(|g| f64::from(g.processes) * f64::from(g.threads)).sum();
        let work = self.scenario.groups().filter_map(|group| match group.demand {
            Demand::Work(calls) if !group.are_strangers() => Some(calls),
            _ => None,
        });
        let needed = work.max()? as f64 * workers;
        let rate = |group: &Clients| Some(group.stranger_rate()? * f64::from(group.processes));
        let strangers: f64 = self.scenario.groups().filter_map(rate).sum();
        let others = self.scenario.server.get_ref().strangers.map_or(0.0, Strangers::mean);
        let served_by = |nanos: u64| {
            let until = Instant::from_nanos(nanos);
            let taken = (strangers + others) * seconds(Instant::ZERO, until);
            self.server.capacity(Instant::ZERO, until, None) - taken
        };
        // Bisection to the nanosecond. A century counts as never.
        let (mut least, mut most) = (0, 3_155_760_000_000_000_000);
        if served_by(most) < needed {
            return None;
        }
        while least < most {
            let middle = least + (most - least) / 2;
            if served_by(middle) < needed { least = middle + 1 } else { most = middle }
        }
        Some(seconds(Instant::ZERO, Instant::from_nanos(most)))
    }
}
