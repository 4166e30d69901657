//! A sliding window: a log of the calls in the latest period, or a counter that estimates them from
//! the counts of this window and the previous one.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use tidegate::{Instant, Span};

use super::{Limit, Ruling, Standing};
use crate::chance::Chance;
use crate::scenario::units::Time;

#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SlidingSpec {
    /// Calls in any period.
    pub limit: u32,
    pub width: Time,
    /// Whether it estimates the calls.
    #[serde(default, skip_serializing_if = "crate::scenario::is_usual")]
    pub counter: bool,
    #[serde(default, skip_serializing_if = "crate::scenario::is_usual")]
    pub counts_rejected: bool,
    /// How long a call takes until it counts. Only in a log.
    #[serde(default, skip_serializing_if = "crate::scenario::is_usual")]
    pub lag: Time,
}

impl SlidingSpec {
    pub(super) fn fault(&self) -> Option<&'static str> {
        if self.limit == 0 || self.width == Time::default() {
            return Some("a sliding window needs a limit of at least 1 call, and a width");
        }
        let both = self.counter && self.lag != Time::default();
        both.then_some("a sliding window with `counter` cannot have a `lag`")
    }
}

#[derive(Clone, Debug)]
pub struct Sliding {
    spec: SlidingSpec,
    /// When the calls of a log arrived, if they count now or later.
    log: VecDeque<Instant>,
    /// The window of a counter, its calls, and those of the previous one.
    window: u64,
    counts: [f64; 2],
}

impl Sliding {
    pub fn new(spec: &SlidingSpec) -> Self {
        Self { spec: *spec, log: VecDeque::new(), window: 0, counts: [0.0; 2] }
    }

    fn width(&self) -> u64 {
        self.spec.width.span().as_nanos()
    }

    /// How much of the window of a counter has passed.
    fn part(&self, now: Instant) -> f64 {
        (now.as_nanos() % self.width()) as f64 / self.width() as f64
    }

    /// The calls of a counter in the window of `now` and in the one before.
    fn counts(&self, now: Instant) -> [f64; 2] {
        match now.as_nanos() / self.width() - self.window {
            0 => self.counts,
            1 => [0.0, self.counts[0]],
            _ => [0.0; 2],
        }
    }

    /// How many calls count at `now`.
    fn used(&self, now: Instant) -> f64 {
        if self.spec.counter {
            let [own, before] = self.counts(now);
            return before * (1.0 - self.part(now)) + own;
        }
        let counts_until = now.as_nanos().checked_sub(self.spec.lag.span().as_nanos());
        let seen = |until: u64| self.log.partition_point(|at| at.as_nanos() <= until);
        let gone = counts_until.and_then(|until| until.checked_sub(self.width())).map_or(0, seen);
        (counts_until.map_or(0, seen) - gone) as f64
    }

    /// How long after a throttled call at `now` one would be served.
    fn next(&self, now: Instant) -> Option<Span> {
        if self.level(now) >= 1.0 {
            return Some(Span::ZERO);
        }
        if self.spec.counter {
            let rest = 1.0 - self.part(now);
            let falls = (self.used(now) + 1.0 - f64::from(self.spec.limit)) / self.counts(now)[1];
            let wait = if falls.is_finite() { falls.min(rest) } else { rest };
            return Some(crate::chance::scaled(self.spec.width.span(), wait));
        }
        let frees = self.log.get(self.log.len().saturating_sub(self.spec.limit as usize))?;
        let wait = self.spec.width.span() + self.spec.lag.span();
        Some(*frees + wait - now)
    }

    fn count(&mut self, now: Instant) {
        if !self.spec.counter {
            let kept = self.width() + self.spec.lag.span().as_nanos();
            while self.log.front().is_some_and(|at| at.as_nanos() + kept <= now.as_nanos()) {
                self.log.pop_front();
            }
            return self.log.push_back(now);
        }
        self.counts = self.counts(now);
        self.window = now.as_nanos() / self.width();
        self.counts[0] += 1.0;
    }
}

impl Limit for Sliding {
    fn arrive(&mut self, now: Instant, _: &mut Chance) -> Ruling {
        let served = self.level(now) >= 1.0;
        if served || self.spec.counts_rejected {
            self.count(now);
        }
        Ruling::served(served)
    }

    /// It does not count what remains.
    fn standing(&self, now: Instant) -> Standing {
        let quota = Some((self.spec.limit.into(), self.spec.width.span()));
        Standing { next: self.next(now), quota, ..Standing::default() }
    }

    fn level(&self, now: Instant) -> f64 {
        (f64::from(self.spec.limit) - self.used(now)).max(0.0)
    }

    fn burst(&self) -> f64 {
        self.spec.limit.into()
    }

    fn rate(&self) -> Vec<(Instant, f64)> {
        vec![(Instant::ZERO, self.burst() / self.spec.width.seconds())]
    }
}
