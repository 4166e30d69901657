//! The state of a run to display, and the traits of its displays.

use crate::curves::Curves;
use crate::fleet::Member;
use crate::options::Demo;
use crate::report::{Report, millis, percent};
use crate::server::Truth;
use std::io::Write;
use std::net::SocketAddr;
use std::time::Duration;

/// The state of a run at one time.
pub struct Scene<'a> {
    pub demo: &'a Demo,
    pub law: &'a str,
    pub address: SocketAddr,
    pub elapsed: Duration,
    pub truth: &'a Truth,
    pub curves: &'a Curves,
    pub members: &'a [Member],
    /// The reports of earlier laws.
    pub finished: &'a [Report],
}

impl Scene<'_> {
    /// The last second, or less at the start.
    pub fn lately(&self) -> (f64, f64) {
        let end = self.curves.end();
        ((end - 1.0).max(0.0), end)
    }
}

/// A display of a run.
pub trait Watcher {
    fn show(&mut self, scene: &Scene<'_>);

    /// Displays the last state of a run, before the API stops.
    fn leave(&mut self, _scene: &Scene<'_>) {}
}

/// Several displays at once.
impl Watcher for Vec<Box<dyn Watcher>> {
    fn show(&mut self, scene: &Scene<'_>) {
        self.iter_mut().for_each(|watcher| watcher.show(scene));
    }

    fn leave(&mut self, scene: &Scene<'_>) {
        self.iter_mut().for_each(|watcher| watcher.leave(scene));
    }
}

/// One line of text per second, for a pipe, a log or `--json`.
pub struct Lines<W> {
    to: W,
    next: u64,
}

impl<W: Write> Lines<W> {
    pub fn new(to: W) -> Self {
        Lines { to, next: 1 }
    }
}

impl<W: Write> Watcher for Lines<W> {
    fn show(&mut self, scene: &Scene<'_>) {
        let second = scene.elapsed.as_secs();
        if second == 0 {
            self.next = 1;
        }
        if second < self.next {
            return;
        }
        self.next = second + 1;
        let (from, to) = scene.lately();
        let rates = scene.curves.total(from, to);
        let waits: Vec<String> = scene
            .members
            .iter()
            .map(|member| millis(member.tally.wait_us as f64 / 1000.0))
            .collect();
        let line = format!(
            "{:<12}{second:>4} s  offered {:>6.0}/s  served {:>5.0}/s  throttled {:>7}  waits {}\n",
            scene.law,
            rates.offered,
            rates.served,
            percent(rates.throttled_share()),
            waits.join(", "),
        );
        // A closed output does not end the run.
        let _ = self.to.write_all(line.as_bytes()).and_then(|()| self.to.flush());
    }
}
