//! The ramp: how a fleet approaches an unknown limit.

use crate::time::{Instant, Span};

/// How many calls may be sent without an interval: at most twice as many per heartbeat as were
/// served in the previous one. Otherwise, all members would exceed an unknown limit at once.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) struct Ramp {
    from: Instant,
    room: u16,
    served: u16,
}

impl Ramp {
    const LEAST: u16 = 64;

    pub(super) const fn new(now: Instant) -> Self {
        Self { from: now, room: Self::LEAST, served: 0 }
    }

    pub(super) const fn grant_one(&mut self) {
        self.room = self.room.saturating_sub(1);
    }

    pub(super) const fn serve_one(&mut self) {
        self.served = self.served.saturating_add(1);
    }

    /// How many more may be sent in this heartbeat.
    pub(super) fn room(&mut self, now: Instant, heartbeat: Span) -> u16 {
        if now - self.from >= heartbeat {
            let room = self.served.saturating_mul(2).max(Self::LEAST);
            *self = Self { from: now, room, served: 0 };
        }
        self.room
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twice_the_calls_served_may_be_sent_in_the_next_heartbeat() {
        let heartbeat = Span::from_millis(500);
        let mut ramp = Ramp::new(Instant::ZERO);
        let mut now = Instant::ZERO;
        for most in [64, 128, 256] {
            assert_eq!(ramp.room(now, heartbeat), most);
            for left in (0..most).rev() {
                ramp.grant_one();
                ramp.serve_one();
                assert_eq!(ramp.room(now, heartbeat), left);
            }
            now += heartbeat;
        }
        // Of 512 a quarter is served, and then half as many may be sent.
        assert_eq!(ramp.room(now, heartbeat), 512);
        for _ in 0..128 {
            ramp.serve_one();
        }
        now += heartbeat;
        assert_eq!(ramp.room(now, heartbeat), 256);
        // Without calls it starts again.
        assert_eq!(ramp.room(now + Span::from_secs(9), heartbeat), 64);
    }
}
