//! What a limit can have served, for the figures of a run.

use super::timeline::{Nanos, Timeline};
use std::ops::Range;

/// The mean of the numbers that were added, or an expected one as long as there is none.
#[derive(Debug)]
pub struct Mean {
    expected: u64,
    count: u64,
    sum: u128,
}

impl Mean {
    pub fn new(expected: u64) -> Self {
        Mean { expected, count: 0, sum: 0 }
    }

    pub fn add(&mut self, number: u64) {
        self.count += 1;
        self.sum += u128::from(number);
    }

    /// Rounded down, and at least 1.
    pub fn whole(&self) -> u128 {
        self.sum.checked_div(self.count.into()).unwrap_or(self.expected.into()).max(1)
    }

    pub fn exact(&self) -> f64 {
        match self.sum {
            0 => self.expected as f64,
            sum => sum as f64 / self.count as f64,
        }
    }
}

/// The most calls that windows can have served by `end`: a whole limit in every window that has
/// begun, except windows that an outage covers completely.
pub fn calls_in_windows(timeline: &Timeline, period: Nanos, end: Nanos) -> f64 {
    let begun = end.div_ceil(period);
    let outage = timeline.outage_before(end);
    let until = if outage.end == end { begun } else { outage.end / period };
    let dark = outage.start.div_ceil(period)..until;
    most(timeline, period, 0..begun, end) - most(timeline, period, dark, end)
}

/// The most that these windows can serve. In the window with the step the larger limit counts.
fn most(timeline: &Timeline, period: Nanos, windows: Range<u64>, end: Nanos) -> f64 {
    let (first, after) = match timeline.step {
        Some((at, limit)) if at < end => (at, limit),
        _ => (end, 0),
    };
    let count = |span: Range<u64>| {
        let from = span.start.max(windows.start);
        span.end.min(windows.end).saturating_sub(from) as f64
    };
    let (before, limit) = (first / period, timeline.limit);
    let whole = first.div_ceil(period);
    count(0..before) * limit as f64
        + count(before..whole) * limit.max(after) as f64
        + count(whole..u64::MAX) * after as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_within_an_outage_serve_nothing_and_one_with_a_step_the_larger_limit() {
        let outage = Timeline { limit: 5, step: None, outage: Some(1_500..3_000) };
        for (end, capacity) in [(0, 0.0), (1, 5.0), (1_000, 5.0), (1_001, 10.0), (4_000, 15.0)] {
            assert_eq!(calls_in_windows(&outage, 1_000, end), capacity, "by {end}");
        }
        let step = Timeline { limit: 3, step: Some((500, 1)), outage: None };
        assert_eq!(calls_in_windows(&step, 1_000, 3_000), 3.0 + 1.0 + 1.0);
    }
}
