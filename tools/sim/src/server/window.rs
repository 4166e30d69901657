//! A fixed window: a number of calls in each minute of the server's clock.

use serde::{Deserialize, Serialize};
use tidegate::{Instant, Span};
use tidegate_limits::Limit as _;

use super::{Limit, Ruling, Standing};
use crate::chance::Chance;
use crate::scenario::units::Time;

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct WindowSpec {
    pub limit: u32,
    pub width: Time,
    /// The offset of the start of the world within a window. Drawn uniformly if absent.
    pub phase: Option<Time>,
    /// How many calls are left in the first window. All if absent.
    pub start: Option<u32>,
}

impl WindowSpec {
    pub(super) fn fault(&self) -> Option<&'static str> {
        if self.limit == 0 || self.width == Time::default() {
            return Some("a window needs a limit of at least 1 call, and a width");
        }
        if self.start.is_some_and(|start| start > self.limit) {
            return Some("a window cannot start with more than its limit");
        }
        let outside = self.phase.is_some_and(|phase| phase >= self.width);
        outside.then_some("a window's phase must be less than its width")
    }
}

#[derive(Clone, Debug)]
pub struct Window {
    limit: tidegate_limits::Window,
    width: Span,
    phase: Span,
}

impl Window {
    pub fn new(spec: &WindowSpec, chance: &mut Chance) -> Self {
        let width = spec.width.span();
        let last = width - Span::from_nanos(1);
        let phase = spec.phase.map_or_else(|| chance.between(Span::ZERO, last), Time::span);
        let used = spec.limit - spec.start.unwrap_or(spec.limit);
        let limit = tidegate_limits::Window::new(spec.limit.into(), width.as_nanos());
        let limit = limit.at_phase(phase.as_nanos()).having_used(used.into(), 0);
        Self { limit, width, phase }
    }

    fn limit(&self, now: Instant) -> tidegate_limits::Window {
        let mut limit = self.limit;
        limit.fits(now.as_nanos(), 0);
        limit
    }
}

impl Limit for Window {
    fn arrive(&mut self, now: Instant, _: &mut Chance) -> Ruling {
        Ruling::served(self.limit.take(now.as_nanos(), 1))
    }

    fn standing(&self, now: Instant) -> Standing {
        let limit = self.limit(now);
        let reset = Some(Span::from_nanos(limit.reset()));
        let quota = Some((limit.most(), self.width));
        Standing { remaining: Some(limit.remaining()), next: reset, reset, quota }
    }

    fn level(&self, now: Instant) -> f64 {
        self.limit(now).remaining() as f64
    }

    fn burst(&self) -> f64 {
        self.limit.most() as f64
    }

    fn rate(&self) -> Vec<(Instant, f64)> {
        vec![(Instant::ZERO, self.burst() / (self.width.as_nanos() as f64 / 1e9))]
    }

    fn windows(&self) -> Option<(u32, Span, Instant)> {
        let first = (self.width.as_nanos() - self.phase.as_nanos()) % self.width.as_nanos();
        Some((u32::try_from(self.limit.most()).ok()?, self.width, Instant::from_nanos(first)))
    }
}
