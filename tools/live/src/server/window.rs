//! A fixed window: `limit` calls in each period, counted anew when the next one begins.

use super::limiter::{Count, Standing};
use super::timeline::{Nanos, Timeline};
use std::ops::Range;

/// What many APIs document as "60 requests a minute" and send `X-RateLimit-*` for.
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

    /// Whether a call fits at `now`.
    pub fn fits(&mut self, now: Nanos) -> bool {
        let index = now / self.period;
        if index > self.index {
            (self.index, self.used) = (index, 0);
        }
        self.used < self.timeline.limit_at(now)
    }

    /// Takes the call that fitted.
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

    /// The most that any fleet could have been served by `end`: a whole limit in every window that
    /// had begun, except in those that an outage covered from edge to edge.
    pub fn capacity(&self, end: Nanos) -> f64 {
        let begun = end.div_ceil(self.period);
        let outage = self.timeline.outage_before(end);
        let until = if outage.end == end { begun } else { outage.end / self.period };
        let dark = outage.start.div_ceil(self.period)..until;
        self.most(0..begun, end) - self.most(dark, end)
    }

    /// What the windows of these numbers can serve at most; the one with the step in it as many as
    /// the larger limit.
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
    fn a_window_serves_its_limit_and_a_new_one_begins_at_the_very_nanosecond() {
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
    fn a_step_down_inside_a_window_takes_what_is_left_of_it() {
        let timeline = Timeline { limit: 3, step: Some((500, 1)), outage: None };
        let mut window = Window::new(timeline, 1_000);
        for (now, served) in [(0, true), (1, true), (500, false), (1_000, true), (1_001, false)] {
            assert_eq!(admit(&mut window, now), served, "at {now}");
        }
        assert_eq!(window.capacity(3_000), 3.0 + 1.0 + 1.0);
    }

    #[test]
    fn the_capacity_counts_windows_that_began_and_were_not_all_outage() {
        let timeline = Timeline { limit: 5, step: None, outage: Some(1_500..3_000) };
        let window = Window::new(timeline, 1_000);
        for (end, capacity) in [(0, 0.0), (1, 5.0), (1_000, 5.0), (1_001, 10.0), (4_000, 15.0)] {
            assert_eq!(window.capacity(end), capacity, "by {end}");
        }
    }
}
