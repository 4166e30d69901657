//! A fixed window: `limit` calls in each period.

use super::limiter::{Count, Standing};
use super::timeline::{Nanos, Timeline};
use std::ops::Range;

/// A limit such as "60 requests a minute" with `X-RateLimit-*` headers, as many APIs document it.
#[derive(Debug)]
pub struct Window {
    timeline: Timeline,
    period: Nanos,
    index: u64,
    used: u64,
}

impl Window {
    pub fn new(timeline: Timeline, period: Nanos) -> Self {
        Window { timeline, period, index: 0, used: 0 }
    }

    pub fn fits(&mut self, now: Nanos) -> bool {
        let index = now / self.period;
        if index > self.index {
            (self.index, self.used) = (index, 0);
        }
        self.used < self.timeline.limit_at(now)
    }

    /// Charges a call that fits.
    pub fn take(&mut self) {
        self.used += 1;
    }

    pub fn standing(&self, now: Nanos) -> Standing {
        let limit = self.timeline.limit_at(now);
        let remaining = limit.saturating_sub(self.used);
        let reset = self.period - now % self.period;
        Standing {
            count: Count::Period,
            quota: limit,
            period: self.period,
            limit,
            remaining,
            reset,
            retry: if remaining > 0 { 0 } else { reset },
        }
    }

    /// The most calls that can have been served by `end`: a whole limit in every window that has
    /// begun, except windows that an outage covers completely.
    pub fn capacity(&self, end: Nanos) -> f64 {
        let begun = end.div_ceil(self.period);
        let outage = self.timeline.outage_before(end);
        let until = if outage.end == end { begun } else { outage.end / self.period };
        let dark = outage.start.div_ceil(self.period)..until;
        self.most(0..begun, end) - self.most(dark, end)
    }

    /// The most that these windows can serve. In the window with the step the larger limit counts.
    fn most(&self, windows: Range<u64>, end: Nanos) -> f64 {
        let (first, after) = match self.timeline.step {
            Some((at, limit)) if at < end => (at, limit),
            _ => (end, 0),
        };
        let count = |span: Range<u64>| {
            let from = span.start.max(windows.start);
            span.end.min(windows.end).saturating_sub(from) as f64
        };
        let (before, limit) = (first / self.period, self.timeline.limit);
        let whole = first.div_ceil(self.period);
        count(0..before) * limit as f64
            + count(before..whole) * limit.max(after) as f64
            + count(whole..u64::MAX) * after as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admit(window: &mut Window, now: Nanos) -> bool {
        let fits = window.fits(now);
        if fits {
            window.take();
        }
        fits
    }

    #[test]
    fn a_window_serves_its_limit_and_the_next_begins_at_the_exact_nanosecond() {
        let mut window = Window::new(Timeline { limit: 2, step: None, outage: None }, 1_000);
        let table = [
            (0, true, 1, 1_000),
            (999, true, 0, 1),
            (999, false, 0, 1),
            (1_000, true, 1, 1_000),
            (1_001, true, 0, 999),
            (1_500, false, 0, 500),
            (9_999, true, 1, 1),
            (10_000, true, 1, 1_000),
        ];
        for (now, served, remaining, reset) in table {
            assert_eq!(admit(&mut window, now), served, "at {now}");
            let standing = window.standing(now);
            assert_eq!((standing.remaining, standing.reset), (remaining, reset), "at {now}");
        }
    }

    #[test]
    fn a_step_down_inside_a_window_lowers_what_is_left() {
        let timeline = Timeline { limit: 3, step: Some((500, 1)), outage: None };
        let mut window = Window::new(timeline, 1_000);
        for (now, served) in [(0, true), (1, true), (500, false), (1_000, true), (1_001, false)] {
            assert_eq!(admit(&mut window, now), served, "at {now}");
        }
        assert_eq!(window.capacity(3_000), 3.0 + 1.0 + 1.0);
    }

    #[test]
    fn the_capacity_excludes_windows_within_an_outage() {
        let timeline = Timeline { limit: 5, step: None, outage: Some(1_500..3_000) };
        let window = Window::new(timeline, 1_000);
        for (end, capacity) in [(0, 0.0), (1, 5.0), (1_000, 5.0), (1_001, 10.0), (4_000, 15.0)] {
            assert_eq!(window.capacity(end), capacity, "by {end}");
        }
    }
}
