//! A fixed window: a number of calls in each minute of the server's clock.

use serde::Deserialize;
use tidegate::{Instant, Span};

use super::{Limit, Ruling, seconds};
use crate::chance::Chance;
use crate::scenario::units::Time;

/// The scenario's settings of a fixed window.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WindowSpec {
    /// Calls per window.
    pub limit: u32,
    /// The width of a window.
    pub width: Time,
    /// The offset of the start of the world within a window. Drawn uniformly if absent.
    pub phase: Option<Time>,
    /// How many calls are left in the first window. All if absent.
    pub start: Option<u32>,
}

impl WindowSpec {
    pub(super) fn fault(&self) -> Option<&'static str> {
        if self.limit == 0 || self.width == Time::default() {
            return Some("a window needs a limit of at least 1 call and a width");
        }
        if self.start.is_some_and(|start| start > self.limit) {
            return Some("a window cannot start with more than its limit");
        }
        let outside = self.phase.is_some_and(|phase| phase >= self.width);
        outside.then_some("a window's phase must be less than its width")
    }
}

/// The window.
#[derive(Clone, Debug)]
pub struct Window {
    limit: u32,
    width: u64,
    phase: u64,
    index: u64,
    used: u32,
}

impl Window {
    /// The window that `spec` describes.
    pub fn new(spec: &WindowSpec, chance: &mut Chance) -> Self {
        let width = spec.width.span();
        let last = width.saturating_sub(Span::from_nanos(1));
        let phase = spec.phase.map_or_else(|| chance.between(Span::ZERO, last), Time::span);
        let (width, phase) = (width.as_nanos(), phase.as_nanos());
        let used = spec.limit - spec.start.unwrap_or(spec.limit);
        Self { limit: spec.limit, width, phase, index: 0, used }
    }
}

impl Limit for Window {
    fn arrive(&mut self, now: Instant, _: &mut Chance) -> Ruling {
        let time = now.as_nanos() + self.phase;
        if time / self.width != self.index {
            (self.index, self.used) = (time / self.width, 0);
        }
        let served = self.used < self.limit;
        self.used += u32::from(served);
        Ruling::served(served)
    }

    fn remaining(&self) -> Option<u64> {
        Some(u64::from(self.limit - self.used))
    }

    fn level(&self, now: Instant) -> f64 {
        let same = (now.as_nanos() + self.phase) / self.width == self.index;
        f64::from(if same { self.limit - self.used } else { self.limit })
    }

    fn next(&self, now: Instant) -> Option<Span> {
        let time = now.as_nanos() + self.phase;
        Some(Span::from_nanos(self.width - time % self.width))
    }

    fn reset(&self, now: Instant) -> Option<Span> {
        self.next(now)
    }

    fn quota(&self, _: Instant) -> Option<(u64, Span)> {
        Some((self.limit.into(), Span::from_nanos(self.width)))
    }

    /// Computed as an even flow. Partial windows at the ends of a run may serve more.
    fn capacity(&self, from: Instant, to: Instant) -> f64 {
        seconds(from, to) * self.rate()[0].1
    }

    fn start(&self) -> f64 {
        0.0
    }

    fn burst(&self) -> f64 {
        f64::from(self.limit)
    }

    fn audit(&self) -> Option<&'static str> {
        (self.used > self.limit).then_some("the window has served more than its limit")
    }

    #[expect(clippy::cast_precision_loss, reason = "for ratios")]
    fn rate(&self) -> Vec<(Instant, f64)> {
        vec![(Instant::ZERO, f64::from(self.limit) / (self.width as f64 / 1e9))]
    }

    fn windows(&self) -> Option<(u32, Span, Instant)> {
        let first = (self.width - self.phase) % self.width;
        Some((self.limit, Span::from_nanos(self.width), Instant::from_nanos(first)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chance::Stream;

    #[test]
    fn a_window_follows_the_server_clock_and_unused_calls_expire() {
        let secs = |n| Time::from(Span::from_secs(n));
        let spec = WindowSpec { limit: 2, width: secs(60), phase: Some(secs(50)), start: Some(2) };
        let mut chance = Chance::new(1, Stream::Server);
        let mut window = Window::new(&spec, &mut chance);
        const S: u64 = 1_000_000_000;
        for (nanos, served, remaining, next) in [
            (0, true, 1, None),
            (9 * S, true, 0, None),
            (9 * S, false, 0, Some(S)),
            (10 * S - 1, false, 0, Some(1)),
            (10 * S, true, 1, None),
            (70 * S, true, 1, None),
            (129 * S, true, 0, None),
            (129 * S, false, 0, Some(S)),
        ] {
            let now = Instant::from_nanos(nanos);
            assert_eq!(window.arrive(now, &mut chance), Ruling::served(served), "at {nanos}");
            assert_eq!(window.remaining(), Some(remaining), "at {nanos}");
            if let Some(next) = next {
                assert_eq!(window.next(now), Some(Span::from_nanos(next)), "at {nanos}");
            }
            assert_eq!(window.audit(), None);
        }
        assert_eq!(window.windows(), Some((2, Span::from_secs(60), Instant::from_nanos(10 * S))));
    }
}
