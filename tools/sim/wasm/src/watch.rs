//! Collects what happens in a world between two frames.

use std::rc::Rc;

use tidegate::{Instant, Outcome, Reason, Span};
use tidegate_sim::trace::{Step, What};
use tidegate_sim::{Scenario, World};

/// Collects the steps of a world for the next frame.
pub struct Watch {
    processes: Vec<Process>,
    threads: Vec<Thread>,
    /// The width of a bin.
    bin: Span,
    /// The first bin that no frame has included.
    first: usize,
    /// That bin and the following ones with events.
    bins: Vec<Bin>,
    /// When the last of them ends.
    ends: Instant,
    /// Time, thread, kind and value of each step since the last frame, if requested.
    steps: Option<Vec<[f64; 4]>>,
}

#[derive(Clone, Copy, Default)]
struct Process {
    in_flight: u32,
    served: u32,
    throttled: u32,
}

#[derive(Clone, Copy)]
struct Thread {
    process: usize,
    /// The end of its call's wait. `None` if it does not wait for a time.
    until: Option<Instant>,
}

/// The counts of a bin in addition to the world's tally.
#[derive(Clone)]
struct Bin {
    /// Calls that arrived and calls served, per process.
    by_process: Vec<[u32; 2]>,
    /// The total wait of calls sent, in seconds, and their number.
    waited: f64,
    left: u32,
}

impl Watch {
    /// Creates a watch of a new world of `scenario`, with the process of each thread.
    pub fn new(scenario: &Scenario, threads: &[u32], steps: bool) -> Self {
        let thread = |&process: &u32| Thread { process: process as usize, until: None };
        let threads: Vec<Thread> = threads.iter().map(thread).collect();
        let processes = threads.last().map_or(0, |last| last.process + 1);
        Self {
            processes: vec![Process::default(); processes],
            threads,
            bin: scenario.bin.get_ref().span(),
            first: 0,
            bins: Vec::new(),
            ends: Instant::ZERO,
            steps: steps.then(Vec::new),
        }
    }

    /// Records a step.
    pub fn see(&mut self, step: &Step) {
        while step.at >= self.ends {
            self.begin_bin();
        }
        let thread = &mut self.threads[step.thread as usize];
        let process = &mut self.processes[thread.process];
        thread.until = None;
        match step.what {
            What::Waits(until) => thread.until = Some(until),
            What::Sent(waited) => {
                process.in_flight += 1;
                if let Some(bin) = self.bins.last_mut() {
                    bin.waited += seconds(waited.as_nanos());
                    bin.left += 1;
                }
            }
            What::Decided(outcome) => {
                let served = outcome == Outcome::Ok;
                *(if served { &mut process.served } else { &mut process.throttled }) += 1;
                if let Some(bin) = self.bins.last_mut() {
                    let [arrived, well] = &mut bin.by_process[thread.process];
                    *arrived += 1;
                    *well += u32::from(served);
                }
            }
            What::Back { .. } => process.in_flight -= 1,
            What::Full | What::Queued | What::Rejected(_) | What::GivenUp | What::Withdrawn => {}
        }
        if let Some(steps) = &mut self.steps {
            steps.push(numbers(step));
        }
    }

    fn begin_bin(&mut self) {
        let by_process = vec![[0; 2]; self.processes.len()];
        self.bins.push(Bin { by_process, waited: 0.0, left: 0 });
        self.ends += self.bin;
    }

    /// Writes a frame, and clears what is reported once.
    ///
    /// It starts with the time, whether the world has ended, the server's level and rate, the first
    /// bin, the number of bins and the number of steps. Columns follow. Of bins: offered, served,
    /// throttled, calls sent and their total wait; then offered and served by process, bin by bin.
    /// Of processes: how long the next call waits, calls in flight, and calls served and throttled
    /// so far. Of steps: time, thread, kind and value.
    pub fn frame(&mut self, world: &World<Rc<Scenario>>, scenario: &Scenario, out: &mut Vec<f64>) {
        let now = world.now();
        let width = self.bin.as_nanos();
        let whole = now.as_nanos() / width;
        // The end of the world truncates its last bin.
        let ended = if world.is_over() { now.as_nanos().div_ceil(width) } else { whole };
        let ended = ended.min(scenario.bins()) as usize;
        while self.first + self.bins.len() < ended {
            self.begin_bin();
        }
        let count = ended - self.first;
        let steps = self.steps.as_mut().map(std::mem::take).unwrap_or_default();
        out.extend([
            seconds(now.as_nanos()),
            f64::from(u8::from(world.is_over())),
            world.server().level(now),
            world.server().rate_at(now),
            self.first as f64,
            count as f64,
            steps.len() as f64,
        ]);

        let (served, bad) = world.tally().bins();
        let range = self.first..ended;
        let (served, bad) = (&served[range.clone()], &bad[range]);
        out.extend(served.iter().zip(bad).map(|(served, bad)| f64::from(served + bad)));
        out.extend(served.iter().copied().map(f64::from));
        out.extend(bad.iter().copied().map(f64::from));
        let bins = &self.bins[..count];
        out.extend(bins.iter().map(|bin| f64::from(bin.left)));
        out.extend(bins.iter().map(|bin| bin.waited));
        for part in 0..2 {
            let by_process = bins.iter().flat_map(|bin| &bin.by_process);
            out.extend(by_process.map(|counts| f64::from(counts[part])));
        }
        self.first = ended;
        self.bins.drain(..count);

        let waits = out.len();
        out.resize(waits + self.processes.len(), f64::NAN);
        for Thread { process, until } in &self.threads {
            if let Some(until) = until {
                let wait = &mut out[waits + process];
                *wait = wait.min(seconds((*until - now).as_nanos()));
            }
        }
        out.extend(self.processes.iter().map(|process| f64::from(process.in_flight)));
        out.extend(self.processes.iter().map(|process| f64::from(process.served)));
        out.extend(self.processes.iter().map(|process| f64::from(process.throttled)));

        for column in 0..4 {
            out.extend(steps.iter().map(|step| step[column]));
        }
    }
}

/// A step as numbers, with the codes of the digest.
fn numbers(step: &Step) -> [f64; 4] {
    let (what, value) = match step.what {
        What::Sent(waited) => (0, seconds(waited.as_nanos())),
        What::Waits(until) => (1, seconds(until.as_nanos())),
        What::Full => (2, f64::NAN),
        What::Rejected(Reason::Late(leaves)) => (3, seconds(leaves.as_nanos())),
        What::Rejected(_) => (3, f64::NAN),
        What::Decided(outcome) => (4, f64::from(outcome as u8)),
        What::Back { outcome, .. } => (5, f64::from(outcome as u8)),
        What::GivenUp => (6, f64::NAN),
        What::Withdrawn => (7, f64::NAN),
        What::Queued => (8, f64::NAN),
    };
    [seconds(step.at.as_nanos()), f64::from(step.thread), f64::from(what), value]
}

fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}
