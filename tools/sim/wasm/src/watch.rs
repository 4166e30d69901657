//! Collects what happens in a world between two frames.

use std::rc::Rc;

use tidegate::{Instant, Outcome, Span};
use tidegate_sim::trace::{Step, What};
use tidegate_sim::{Scenario, World};

pub struct Watch {
    served: Vec<u32>,
    threads: Vec<Thread>,
    bin: Span,
    /// The first bin that no frame has included.
    first: usize,
    /// That bin and the following ones with events.
    bins: Vec<Bin>,
    ends: Instant,
}

#[derive(Clone, Copy)]
struct Thread {
    process: usize,
    /// The end of its call's wait. `None` if it does not wait for a time.
    until: Option<Instant>,
}

/// The counts of a bin in addition to the world's tally.
#[derive(Clone, Default)]
struct Bin {
    /// The total wait of calls sent, in seconds, and their number.
    waited: f64,
    left: u32,
}

impl Watch {
    /// Creates a watch of a new world of `scenario`, with the process of each thread.
    pub fn new(scenario: &Scenario, threads: &[u32]) -> Self {
        let thread = |&process: &u32| Thread { process: process as usize, until: None };
        let threads: Vec<Thread> = threads.iter().map(thread).collect();
        let processes = threads.last().map_or(0, |last| last.process + 1);
        Self {
            served: vec![0; processes],
            threads,
            bin: scenario.bin.get_ref().span(),
            first: 0,
            bins: Vec::new(),
            ends: Instant::ZERO,
        }
    }

    pub fn see(&mut self, step: &Step) {
        while step.at >= self.ends {
            self.begin_bin();
        }
        let thread = &mut self.threads[step.thread as usize];
        thread.until = None;
        match step.what {
            What::Waits(until) => thread.until = Some(until),
            What::Sent(waited) => {
                if let Some(bin) = self.bins.last_mut() {
                    bin.waited += seconds(waited.as_nanos());
                    bin.left += 1;
                }
            }
            What::Decided(Outcome::Ok) => self.served[thread.process] += 1,
            _ => {}
        }
    }

    fn begin_bin(&mut self) {
        self.bins.push(Bin::default());
        self.ends += self.bin;
    }

    /// A frame. It clears what is reported once.
    ///
    /// It starts with the time, whether the world has ended, the server's level and rate, the first
    /// bin and the number of bins. Columns follow. Of bins: offered, served, throttled, calls sent and
    /// their total wait. Of processes: how long the next call waits, and calls served so far.
    pub fn frame(&mut self, world: &World<Rc<Scenario>>, scenario: &Scenario) -> Vec<f64> {
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
        let mut out = vec![
            seconds(now.as_nanos()),
            f64::from(u8::from(world.is_over())),
            world.server().level(now),
            world.server().rate_at(now),
            self.first as f64,
            count as f64,
        ];

        let (served, bad) = world.tally().bins();
        let range = self.first..ended;
        let (served, bad) = (&served[range.clone()], &bad[range]);
        out.extend(served.iter().zip(bad).map(|(served, bad)| f64::from(served + bad)));
        out.extend(served.iter().copied().map(f64::from));
        out.extend(bad.iter().copied().map(f64::from));
        let bins = &self.bins[..count];
        out.extend(bins.iter().map(|bin| f64::from(bin.left)));
        out.extend(bins.iter().map(|bin| bin.waited));
        self.first = ended;
        self.bins.drain(..count);

        let waits = out.len();
        out.resize(waits + self.served.len(), f64::NAN);
        for Thread { process, until } in &self.threads {
            if let Some(until) = until {
                let wait = &mut out[waits + process];
                *wait = wait.min(seconds((*until - now).as_nanos()));
            }
        }
        out.extend(self.served.iter().copied().map(f64::from));
        out
    }
}

fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}
