//! A clock that never steps back.

use crate::time::{Instant, Span};

/// A clock that never steps back. If its source does, it continues from the latest instant.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) struct Steady {
    latest: Instant,
    /// How far it is ahead of its source.
    ahead: Span,
}

impl Steady {
    pub(super) const fn new(now: Instant) -> Self {
        Self { latest: now, ahead: Span::ZERO }
    }

    /// The elapsed time and the current time.
    pub(super) fn tell(&mut self, now: Instant) -> (Span, Instant) {
        let told = now + self.ahead;
        self.ahead += self.latest - told;
        let passed = told - self.latest;
        self.latest = self.latest.max(told);
        (passed, self.latest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_continues_when_its_source_steps_back() {
        let at = Instant::from_nanos;
        let mut clock = Steady::new(at(1_000));
        for (told, passed, now) in [
            (1_500, 500, 1_500),
            (200, 0, 1_500),   // back by an hour, or by a little
            (300, 100, 1_600), // and on
            (2_000, 1_700, 3_300),
            (u64::MAX, u64::MAX - 3_300, u64::MAX),
            (0, 0, u64::MAX),
        ] {
            assert_eq!(clock.tell(at(told)), (Span::from_nanos(passed), at(now)), "{told}");
        }
    }
}
