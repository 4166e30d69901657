//! Workers with a bounded queue: calls take time, and calls that do not fit are throttled.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use serde::{Deserialize, Serialize};
use tidegate::{Instant, Outcome, Span};

use super::schedule;
use super::{Limit, Ruling, Standing};
use crate::chance::Chance;
use crate::scenario::units::Time;

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct QueueSpec {
    /// How many calls are processed at once.
    pub workers: u32,
    /// How many more may wait.
    pub places: u32,
    /// The service time of a call: exponential with this mean.
    pub service: Time,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<ServiceStep>,
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ServiceStep {
    pub at: Time,
    pub service: Time,
}

impl QueueSpec {
    pub(super) fn fault(&self) -> Option<&'static str> {
        let mut means = self.steps.iter().map(|step| step.service).chain([self.service]);
        if self.workers == 0 || means.any(|mean| mean == Time::default()) {
            return Some("a queueing server needs at least 1 worker and service times above 0");
        }
        schedule::fault(self.steps.iter().map(|step| step.at))
    }
}

/// A throttled call takes this long, because it does not queue.
const THROTTLING: Span = Span::from_millis(1);

#[derive(Clone, Debug)]
pub struct Queue {
    workers: usize,
    places: usize,
    service: Vec<(Instant, Span)>,
    /// When each worker completes its assigned calls.
    free: BinaryHeap<Reverse<Instant>>,
    /// When the calls in the server complete.
    inside: BinaryHeap<Reverse<Instant>>,
}

impl Queue {
    pub fn new(spec: &QueueSpec) -> Self {
        let first = (Instant::ZERO, spec.service.span());
        let steps = spec.steps.iter().map(|step| (step.at.instant(), step.service.span()));
        let (workers, places) = (spec.workers as usize, spec.places as usize);
        Self {
            workers,
            places,
            service: [first].into_iter().chain(steps).collect(),
            free: (0..workers).map(|_| Reverse(Instant::ZERO)).collect(),
            inside: BinaryHeap::new(),
        }
    }

    fn room(&self, now: Instant) -> usize {
        let inside = self.inside.iter().filter(|leaves| leaves.0 > now).count();
        (self.workers + self.places).saturating_sub(inside)
    }

    fn mean(&self, now: Instant) -> Span {
        let index = self.service.partition_point(|step| step.0 <= now);
        index.checked_sub(1).map_or(Span::ZERO, |index| self.service[index].1)
    }
}

impl Limit for Queue {
    fn arrive(&mut self, now: Instant, chance: &mut Chance) -> Ruling {
        while self.inside.peek().is_some_and(|leaves| leaves.0 <= now) {
            self.inside.pop();
        }
        if self.inside.len() >= self.workers + self.places {
            return Ruling { outcome: Outcome::Busy, delay: THROTTLING };
        }
        let free = self.free.pop().map_or(now, |free| free.0);
        let done = free.max(now) + chance.exponential(self.mean(now));
        self.free.push(Reverse(done));
        self.inside.push(Reverse(done));
        Ruling { outcome: Outcome::Ok, delay: done - now }
    }

    fn standing(&self, now: Instant) -> Standing {
        let next = self.inside.peek().map(|leaves| leaves.0 - now);
        Standing { remaining: Some(self.room(now) as u64), next, ..Standing::default() }
    }

    fn level(&self, now: Instant) -> f64 {
        self.room(now) as f64
    }

    fn burst(&self) -> f64 {
        (self.workers + self.places) as f64
    }

    fn rate(&self) -> Vec<(Instant, f64)> {
        let rate = |mean: Span| self.workers as f64 / (mean.as_nanos() as f64 / 1e9);
        self.service.iter().map(|&(at, mean)| (at, rate(mean))).collect()
    }

    fn queues(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chance::Stream;

    fn spec(workers: u32, places: u32, millis: u64) -> QueueSpec {
        QueueSpec { workers, places, service: Span::from_millis(millis).into(), steps: vec![] }
    }

    #[test]
    fn a_call_that_does_not_fit_is_throttled_until_another_completes() {
        let mut queue = Queue::new(&spec(2, 3, 50));
        let mut chance = Chance::new(1, Stream::Server);
        let mut leaves: Vec<Span> = (0..5)
            .map(|_| {
                let ruling = queue.arrive(Instant::ZERO, &mut chance);
                assert_eq!(ruling.outcome, Outcome::Ok);
                ruling.delay
            })
            .collect();
        leaves.sort();
        let throttled = queue.arrive(Instant::ZERO, &mut chance);
        assert_eq!((throttled.outcome, throttled.delay), (Outcome::Busy, THROTTLING));
        assert_eq!(queue.standing(Instant::ZERO).next, Some(leaves[0]));
        let first = Instant::ZERO + leaves[0];
        assert_eq!(queue.arrive(first, &mut chance).outcome, Outcome::Ok);
    }

    #[test]
    fn a_queue_at_half_load_matches_the_formula_of_an_mm1_queue() {
        // M/M/1 at half load: the mean time in the server is 1/(mu - lambda) = 100 ms.
        let mut queue = Queue::new(&spec(1, 1_000, 50));
        let mut chance = Chance::new(1, Stream::Server);
        let mut arrivals = Chance::new(1, Stream::Strangers);
        let (mut now, mut sum) = (Instant::ZERO, 0);
        const CALLS: u64 = 200_000;
        for _ in 0..CALLS {
            now += arrivals.exponential(Span::from_millis(100));
            sum += queue.arrive(now, &mut chance).delay.as_nanos();
        }
        let mean = sum as f64 / CALLS as f64 / 1e6;
        assert!((mean - 100.0).abs() < 3.0, "{mean} ms");
    }
}
