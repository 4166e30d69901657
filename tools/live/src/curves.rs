//! The counts of a run as curves over time. A rate is the difference between two points.

use crate::server::{Row, Truth};
use std::time::Duration;

/// Cumulative counts at every tick, without anonymous callers.
#[derive(Debug, Default)]
pub struct Curves {
    points: Vec<(f64, Vec<Row>)>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    pub offered: f64,
    pub served: f64,
    pub throttled: f64,
}

impl Rates {
    pub fn throttled_share(&self) -> f64 {
        if self.offered > 0.0 { self.throttled / self.offered } else { 0.0 }
    }
}

impl Curves {
    pub fn note(&mut self, elapsed: Duration, truth: &Truth) {
        let rows = truth.callers.iter().skip(1).copied().collect();
        self.points.push((elapsed.as_secs_f64(), rows));
    }

    pub fn end(&self) -> f64 {
        self.points.last().map_or(0.0, |point| point.0)
    }

    /// The rates of one process between two times. Counts before the run are zero.
    pub fn rates(&self, process: usize, from: f64, to: f64) -> Rates {
        if to <= from {
            return Rates::default();
        }
        let (a, b) = (self.at(process, from), self.at(process, to));
        let rate = |i: usize| (b[i] - a[i]) / (to - from);
        Rates { offered: rate(0), served: rate(1), throttled: rate(2) }
    }

    pub fn total(&self, from: f64, to: f64) -> Rates {
        let processes = self.points.last().map_or(0, |point| point.1.len());
        (0..processes).map(|process| self.rates(process, from, to)).fold(
            Rates::default(),
            |sum, rates| Rates {
                offered: sum.offered + rates.offered,
                served: sum.served + rates.served,
                throttled: sum.throttled + rates.throttled,
            },
        )
    }

    /// The counts at `time`, interpolated linearly.
    fn at(&self, process: usize, time: f64) -> [f64; 3] {
        let counts = |point: &(f64, Vec<Row>)| match point.1.get(process) {
            Some(row) => [row.offered as f64, row.served as f64, row.throttled as f64],
            None => [0.0; 3],
        };
        if time <= 0.0 {
            return [0.0; 3];
        }
        let after = self.points.partition_point(|point| point.0 < time);
        let (start, high) = match (after.checked_sub(1), self.points.get(after)) {
            (None, None) => return [0.0; 3],
            (Some(low), None) => return counts(&self.points[low]),
            (low, Some(high)) => (low.map(|low| &self.points[low]), high),
        };
        let (from, a) = start.map_or((0.0, [0.0; 3]), |point| (point.0, counts(point)));
        let (to, b) = (high.0, counts(high));
        let share = if to > from { (time - from) / (to - from) } else { 1.0 };
        std::array::from_fn(|i| a[i] + (b[i] - a[i]) * share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noted(points: &[(u64, u64)]) -> Curves {
        let mut curves = Curves::default();
        for (seconds, offered) in points {
            let row = Row { offered: *offered, served: *offered / 2, ..Row::default() };
            let truth = Truth { callers: vec![Row::default(), row], capacity: 0.0 };
            curves.note(Duration::from_secs(*seconds), &truth);
        }
        curves
    }

    #[test]
    fn a_rate_is_the_slope_between_any_two_times() {
        let curves = noted(&[(1, 10), (2, 10), (4, 50)]);
        for (from, to, offered) in [
            (0.0, 1.0, 10.0),
            (1.0, 2.0, 0.0),
            (2.5, 3.5, 20.0),
            (1.0, 4.0, 40.0 / 3.0),
            (3.0, 9.0, 20.0 / 6.0),
            (-1.0, 1.0, 5.0),
        ] {
            assert_eq!(curves.rates(0, from, to).offered, offered, "{from} to {to}");
        }
        assert_eq!(curves.total(2.0, 4.0).served, 10.0);
    }

    #[test]
    fn the_rate_without_points_is_zero() {
        assert_eq!(Curves::default().total(0.0, 1.0), Rates::default());
        let curves = noted(&[(1, 10)]);
        assert_eq!(curves.rates(0, 5.0, 6.0), Rates::default());
        assert_eq!(curves.rates(7, 0.0, 1.0), Rates::default());
    }
}
