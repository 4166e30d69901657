//! Memory use of the fleet and its server during a run.

use std::fs;
use std::time::Duration;

const MOST_POINTS: usize = 4096;

/// This process's resident memory in KiB. `None` without `/proc`.
pub fn resident() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The total memory of all processes over time.
#[derive(Debug, Default)]
pub struct Memory {
    points: Vec<(Duration, u64)>,
}

impl Memory {
    /// Records a reading. An incomplete one is ignored.
    pub fn note(&mut self, elapsed: Duration, kib: Option<u64>) {
        if self.points.len() >= MOST_POINTS {
            let mut index = 0;
            self.points.retain(|_| {
                index += 1;
                index % 2 == 0
            });
        }
        self.points.extend(kib.map(|kib| (elapsed, kib)));
    }

    /// The mean memory of the first and last third of a run, in MiB. The two are equal without
    /// growth.
    pub fn thirds(&self, end: Duration) -> Option<[f64; 2]> {
        let mean = |from: Duration, to: Duration| {
            let within = self.points.iter().filter(|(at, _)| (from..=to).contains(at));
            let (sum, count) = within.fold((0, 0), |(sum, count), (_, kib)| (sum + kib, count + 1));
            (count > 0).then(|| sum as f64 / 1024.0 / f64::from(count))
        };
        Some([mean(Duration::ZERO, end / 3)?, mean(end / 3 * 2, end)?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_shows_between_the_thirds_of_a_run() {
        let mut memory = Memory::default();
        assert_eq!(memory.thirds(Duration::from_secs(9)), None);
        for second in 0..=9 {
            memory.note(Duration::from_secs(second), Some(1024 * (10 + second / 6)));
            memory.note(Duration::from_secs(second), None);
        }
        assert_eq!(memory.thirds(Duration::from_secs(9)), Some([10.0, 11.0]));
    }
}
