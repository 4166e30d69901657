//! The figures of a fleet's run.

use tidegate::{Instant, Outcome as Fate, Span};

use super::{Demand, Fleet, Stretch, What};
use crate::metric::{Micros, jain};
use crate::server::{Server, seconds};

pub type Figures = Vec<Outcome>;

#[derive(Clone, Debug)]
pub struct Outcome {
    /// Calls served, as a share of the possible or the requested.
    pub util: f64,
    /// Throttled, as a share of the calls that arrived.
    pub throttled: f64,
    pub jain: f64,
    /// The share of calls that no message delayed: their lease was available when it was due.
    pub local: f64,
    /// The share of calls that were sent without a lease.
    pub alone: f64,
    /// The median wait of calls, in milliseconds.
    pub wait_p50_ms: f64,
    /// The 99th percentile of the wait.
    pub wait_p99_ms: f64,
    /// Calls that were given up.
    pub lost: u64,
    /// The most calls that arrived in excess of the server's rate at any time.
    pub excess: f64,
    /// The most leases that members held at once.
    pub leases: u64,
    /// Requests to the root per second.
    pub messages: f64,
    /// The same in the busiest second.
    pub messages_peak: u64,
    /// Calls sent per request to the root.
    pub calls_a_message: f64,
    /// Requests to a branch per second, on average over all.
    pub branch_messages: f64,
}

pub struct Tally {
    stretches: Vec<Count>,
    available_leases: Vec<usize>,
    all_available_leases: u64,
    /// The level of a bucket without a burst that arrivals fill and the server's rate drains.
    level: f64,
    at: Instant,
    rate: f64,
}

#[derive(Default)]
struct Count {
    from: Instant,
    to: Instant,
    begun: u64,
    left: u64,
    local: u64,
    alone: u64,
    arrived: u64,
    throttled: u64,
    lost: u64,
    served: Vec<u64>,
    waits: Micros,
    excess: f64,
    leases: u64,
    messages: u64,
    branch_messages: u64,
    second: u64,
    in_second: u64,
    peak: u64,
}

fn part(of: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { of as f64 / all as f64 }
}

impl Tally {
    pub fn new(fleet: &Fleet) -> Self {
        let stretches = fleet.stretches.iter().map(|stretch| Count::new(fleet, stretch));
        let server = Server::new(&fleet.server, 0);
        let minute = Instant::from_nanos(60_000_000_000);
        let rate = server.nodes() * server.limit().capacity(Instant::ZERO, minute) / 60.0;
        Self {
            stretches: stretches.collect(),
            available_leases: vec![0; fleet.members as usize],
            all_available_leases: 0,
            level: 0.0,
            at: Instant::ZERO,
            rate,
        }
    }

    fn at(&mut self, now: Instant) -> impl Iterator<Item = &mut Count> {
        self.stretches.iter_mut().filter(move |count| count.from <= now && now < count.to)
    }

    pub fn begun(&mut self, now: Instant) {
        self.at(now).for_each(|count| count.begun += 1);
    }

    pub fn left(&mut self, now: Instant, waited: Span, local: bool, alone: bool) {
        for count in self.at(now) {
            count.left += 1;
            count.local += u64::from(local);
            count.alone += u64::from(alone);
            count.waits.add(waited);
        }
    }

    pub fn arrived(&mut self, now: Instant, outcome: Fate) {
        let drained = self.rate * seconds(self.at, now);
        self.level = (self.level - drained).max(0.0) + 1.0;
        self.at = now;
        let level = self.level;
        for count in self.at(now) {
            count.arrived += 1;
            count.throttled += u64::from(outcome.is_pushback());
            count.excess = count.excess.max(level - 1.0);
        }
    }

    pub fn served(&mut self, now: Instant, leaf: usize) {
        self.at(now).for_each(|count| count.served[leaf] += 1);
    }

    pub fn lost(&mut self, now: Instant) {
        self.at(now).for_each(|count| count.lost += 1);
    }

    pub fn available_leases(&mut self, leaf: usize, has: usize, now: Instant) {
        self.all_available_leases =
            self.all_available_leases + has as u64 - self.available_leases[leaf] as u64;
        self.available_leases[leaf] = has;
        let all = self.all_available_leases;
        self.at(now).for_each(|count| count.leases = count.leases.max(all));
    }

    pub fn message(&mut self, now: Instant) {
        let second = now.as_nanos() / 1_000_000_000;
        for count in self.at(now) {
            count.messages += 1;
            if count.second != second {
                (count.second, count.in_second) = (second, 0);
            }
            count.in_second += 1;
            count.peak = count.peak.max(count.in_second);
        }
    }

    pub fn branch_message(&mut self, now: Instant) {
        self.at(now).for_each(|count| count.branch_messages += 1);
    }

    pub fn figures(&self, fleet: &Fleet, server: &Server) -> Figures {
        self.stretches.iter().map(|count| count.outcome(fleet, server)).collect()
    }
}

impl Count {
    fn new(fleet: &Fleet, stretch: &Stretch) -> Self {
        Self {
            from: stretch.from.instant(),
            to: stretch.to.unwrap_or(fleet.end).instant(),
            served: vec![0; fleet.members as usize],
            ..Self::default()
        }
    }

    fn outcome(&self, fleet: &Fleet, server: &Server) -> Outcome {
        let served: u64 = self.served.iter().sum();
        let length = seconds(self.from, self.to);
        let capacity = server.flow(self.from, self.to, None);
        let steps = fleet.faults.iter().any(|fault| matches!(fault.what, What::Load(_)));
        let asked = match fleet.demand {
            Demand::Poisson(_) if !steps => self.begun as f64,
            _ => f64::INFINITY,
        };
        let ms = |quantile| self.waits.quantile(quantile).unwrap_or(0.0);
        Outcome {
            util: served as f64 / capacity.min(asked),
            throttled: part(self.throttled, self.arrived),
            jain: jain(self.served.iter().map(|served| *served as f64)).unwrap_or(1.0),
            local: part(self.local, self.left),
            alone: part(self.alone, self.left),
            wait_p50_ms: ms(0.5),
            wait_p99_ms: ms(0.99),
            lost: self.lost,
            excess: self.excess,
            leases: self.leases,
            messages: self.messages as f64 / length,
            messages_peak: self.peak,
            calls_a_message: part(self.left, self.messages),
            branch_messages: part(self.branch_messages, fleet.branches.into()) / length,
        }
    }
}
