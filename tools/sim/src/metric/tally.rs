//! Counters that are updated during a run.

use hdrhistogram::Histogram;
use tidegate::{Instant, Outcome, Span};

use crate::PLAIN;
use crate::client::Thread;
use crate::scenario::{Scenario, Show, Toward};
use crate::server::{Answer, Server};

/// The counters of a run. Calls are counted when they arrive at the server.
#[derive(Clone, Debug)]
pub struct Tally {
    /// Calls served, and calls throttled or failed, per bin.
    pub(super) served: Vec<u32>,
    pub(super) bad: Vec<u32>,
    /// Calls served per process and bin, if a metric needs them.
    pub(super) served_by: Vec<Vec<u32>>,
    /// Calls served from `measure_from` on, including background calls.
    pub(super) all_served: u64,
    /// The same in each of the server's fixed windows that served any: when the window ends, and
    /// how many.
    pub(super) by_window: Vec<(Instant, u64)>,
    pub(super) threads: Vec<ThreadTally>,
    /// How long attempts waited for their throttle.
    pub(super) waits: Micros,
    /// Time from the beginning of a call until it was served.
    pub(super) latencies: Micros,
    /// Time that served calls spent in the server.
    pub(super) stays: Micros,
    /// When the last thread completed its fixed amount of work.
    pub(super) done: Option<Instant>,
    pub(super) peak: Peak,
    bin: Span,
    /// The width of the server's windows, and when the first whole one begins.
    windows: Option<(Span, Instant)>,
    from: Instant,
    calls: u64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct ThreadTally {
    pub(super) process: u32,
    pub(super) counted: bool,
    pub(super) under_test: bool,
    /// Whether it uses that law and is always present.
    pub(super) always: bool,
    pub(super) served: u32,
    pub(super) bad: u32,
}

impl Tally {
    pub fn new(scenario: &Scenario, server: &Server, threads: &[Thread]) -> Self {
        let groups: Vec<_> =
            scenario.groups().flat_map(|group| (0..group.processes).map(move |_| group)).collect();
        let chosen = groups.iter().any(|group| group.counted);
        let threads = threads.iter().map(|thread| {
            let group = groups[thread.process as usize];
            let under_test = !group.are_strangers();
            let counted = if chosen { group.counted } else { under_test };
            let always = under_test && group.is_always_there(scenario);
            let process = thread.process;
            ThreadTally { process, counted, under_test, always, served: 0, bad: 0 }
        });
        let fair = |toward| toward == Toward::Fair;
        let by_process = scenario.convergences.iter().any(|c| fair(c.get_ref().toward))
            || scenario.stretches.iter().any(|stretch| {
                stretch.get_ref().show.iter().any(|show| matches!(show, Show::Jain | Show::Least))
            });
        let bins = scenario.bins() as usize + 1;
        Self {
            served: vec![0; bins],
            bad: vec![0; bins],
            served_by: if by_process { vec![vec![0; bins]; groups.len()] } else { Vec::new() },
            all_served: 0,
            by_window: Vec::new(),
            threads: threads.collect(),
            waits: Micros::default(),
            latencies: Micros::default(),
            stays: Micros::default(),
            done: None,
            peak: Peak::new(scenario.peak_from.unwrap_or(scenario.measure_from).instant()),
            bin: scenario.bin.get_ref().span(),
            windows: server.limit().windows().map(|(_, width, first)| (width, first)),
            from: scenario.measure_from.instant(),
            calls: 0,
        }
    }

    pub fn left(&mut self, thread: u32, now: Instant, waited: Span) {
        if !PLAIN && now >= self.from && self.threads[thread as usize].counted {
            self.waits.add(waited);
        }
    }

    pub fn arrived(&mut self, thread: u32, now: Instant, answer: &Answer) {
        if PLAIN {
            return;
        }
        let bin = self.count(now, answer.outcome);
        let thread = &mut self.threads[thread as usize];
        let served = answer.outcome == Outcome::Ok;
        if served && let Some(bins) = self.served_by.get_mut(thread.process as usize) {
            bins[bin] += 1;
        }
        if now >= self.from {
            if served {
                thread.served += 1;
                if answer.delay > Span::ZERO {
                    self.stays.add(answer.delay);
                }
            } else {
                thread.bad += 1;
            }
        }
    }

    pub fn stranger(&mut self, now: Instant, outcome: Outcome) {
        self.count(now, outcome);
    }

    /// A call that began at `begun` returned and was served.
    pub fn served(&mut self, thread: u32, now: Instant, begun: Instant) {
        if !PLAIN && now >= self.from && self.threads[thread as usize].counted {
            self.latencies.add(now - begun);
        }
    }

    /// A thread has completed its work; `at_work` threads have not.
    pub fn work_done(&mut self, at_work: u64, now: Instant) {
        if at_work == 0 {
            self.done = Some(now);
        }
    }

    /// Calls served, and calls throttled or failed, per bin.
    pub fn bins(&self) -> (&[u32], &[u32]) {
        (&self.served, &self.bad)
    }

    /// How many calls of clients under test were served.
    pub fn served_in_all(&self) -> u64 {
        let under_test = self.threads.iter().filter(|thread| thread.under_test);
        under_test.map(|thread| u64::from(thread.served)).sum()
    }

    pub const fn calls(&self) -> u64 {
        self.calls
    }

    fn count(&mut self, now: Instant, outcome: Outcome) -> usize {
        self.calls += 1;
        self.peak.count(now);
        let bin = (now.as_nanos() / self.bin.as_nanos()) as usize;
        let bin = bin.min(self.served.len() - 1);
        if outcome == Outcome::Ok {
            self.served[bin] += 1;
            if now >= self.from {
                self.all_served += 1;
                self.count_window(now);
            }
        } else {
            self.bad[bin] += 1;
        }
        bin
    }

    fn count_window(&mut self, now: Instant) {
        let Some((width, first)) = self.windows else { return };
        match self.by_window.last_mut() {
            Some((ends, served)) if now < *ends => *served += 1,
            _ => {
                let whole =
                    if now < first { 0 } else { (now - first).as_nanos() / width.as_nanos() + 1 };
                self.by_window.push((first + width * whole, 1));
            }
        }
    }
}

/// The busiest second: a sliding window of ten slots of a tenth.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peak {
    slots: [u32; 10],
    slot: usize,
    slot_ends: Instant,
    sum: u32,
    from: Instant,
    pub(super) most: u32,
}

const SLOT: Span = Span::from_millis(100);

impl Peak {
    const fn new(from: Instant) -> Self {
        Self { slots: [0; 10], slot: 0, slot_ends: from, sum: 0, from, most: 0 }
    }

    fn count(&mut self, now: Instant) {
        if now < self.from {
            return;
        }
        if now - self.slot_ends >= Span::from_secs(1) {
            // No call for a second. Slots keep their phase, so that the result does not depend on
            // the gap.
            let idle = (now - self.slot_ends).as_nanos() / SLOT.as_nanos();
            self.slot_ends += SLOT * idle;
            (self.slots, self.sum) = ([0; 10], 0);
        }
        while now >= self.slot_ends {
            self.slot = (self.slot + 1) % self.slots.len();
            self.sum -= std::mem::take(&mut self.slots[self.slot]);
            self.slot_ends += SLOT;
        }
        self.slots[self.slot] += 1;
        self.sum += 1;
        self.most = self.most.max(self.sum);
    }
}

/// A histogram of times in microseconds with three significant digits.
#[derive(Clone, Debug, Default)]
pub(crate) struct Micros {
    histogram: Option<Histogram<u32>>,
    sum: u128,
    longest: Span,
}

impl Micros {
    pub(crate) fn add(&mut self, span: Span) {
        // Times above a million seconds are not distinguished.
        let new = || Histogram::new_with_bounds(1, 1_000_000_000_000, 3);
        let histogram = self.histogram.get_or_insert_with(|| new().expect("the bounds are valid"));
        histogram.saturating_record(span.as_nanos() / 1_000);
        self.sum += u128::from(span.as_nanos());
        self.longest = self.longest.max(span);
    }

    /// The quantile in milliseconds. `None` if there are no values.
    pub(crate) fn quantile(&self, share: f64) -> Option<f64> {
        Some(self.histogram.as_ref()?.value_at_quantile(share) as f64 / 1e3)
    }

    /// The mean, in milliseconds.
    pub(super) fn mean(&self) -> Option<f64> {
        super::share(self.sum as f64 / 1e6, self.histogram.as_ref()?.len() as f64)
    }

    /// The maximum, in milliseconds.
    pub(super) fn longest(&self) -> Option<f64> {
        self.histogram.as_ref().map(|_| self.longest.as_nanos() as f64 / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_second_is_found_wherever_it_begins() {
        let at = |millis| Instant::ZERO + Span::from_millis(millis);
        for (calls, expected) in [
            (vec![0, 500, 950, 1_050, 1_300], 4),
            (vec![950, 1_000, 1_899, 1_999], 3),
            (vec![0, 1, 2, 900_000], 3),
            (vec![900_000, 900_001, 900_999, 901_050], 3),
            (vec![], 0),
        ] {
            let mut peak = Peak::new(Instant::ZERO);
            calls.iter().for_each(|&millis| peak.count(at(millis)));
            assert_eq!(peak.most, expected, "{calls:?}");
        }
    }
}
