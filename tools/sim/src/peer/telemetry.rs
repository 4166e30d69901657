//! The telemetry server of the `aatb` clients.
//!
//! Source: github.com/Bfarkiani/ratelimiter at 5def00a, `telemetry.py` with its defaults. It sums
//! requests and throttled calls over 15 slots of 2 s, and counts the clients seen in 6 slots of 10
//! s. Open slots do not count. Here reports arrive immediately and none is lost.

use tidegate::{Instant, Span};

const SLOT: Span = Span::from_secs(2);
const SLOTS: usize = 15;
const CLIENT_SLOT: Span = Span::from_secs(10);
const CLIENT_SLOTS: u64 = 6;

/// The reports so far.
#[derive(Clone, Debug, Default)]
pub struct Telemetry {
    slot: u64,
    requests: Sum,
    throttled: Sum,
    client_slot: u64,
    /// The slot after the one in which each client was seen last. 0 means never.
    seen: Vec<u64>,
    clients: usize,
}

/// The totals that a client receives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Load {
    pub requests: f64,
    pub throttled: f64,
    /// At least one.
    pub clients: f64,
}

impl Load {
    /// Requests per client.
    pub fn mean(self) -> f64 {
        self.requests / self.clients
    }
}

impl Telemetry {
    /// Registers a client and returns its number.
    pub(super) fn join(&mut self) -> usize {
        self.seen.push(0);
        self.seen.len() - 1
    }

    /// Records how many calls a client has sent, and whether it was just throttled.
    pub(super) fn report(
        &mut self,
        now: Instant,
        client: usize,
        sent: u64,
        throttled: bool,
    ) -> Load {
        self.roll(now);
        self.requests.open += sent;
        self.throttled.open += u64::from(throttled);
        self.seen[client] = self.client_slot + 1;
        Load {
            requests: self.requests.closed() as f64,
            throttled: self.throttled.closed() as f64,
            clients: self.clients.max(1) as f64,
        }
    }

    fn roll(&mut self, now: Instant) {
        let slot = now.as_nanos() / SLOT.as_nanos();
        for _ in 0..slot.saturating_sub(self.slot).min(SLOTS as u64 + 1) {
            self.requests.close();
            self.throttled.close();
        }
        self.slot = slot;
        let client_slot = now.as_nanos() / CLIENT_SLOT.as_nanos();
        if client_slot > self.client_slot {
            self.client_slot = client_slot;
            let oldest = (client_slot + 1).saturating_sub(CLIENT_SLOTS).max(1);
            self.clients = self.seen.iter().filter(|seen| **seen >= oldest).count();
        }
    }
}

/// A sum over the closed slots.
#[derive(Clone, Debug, Default)]
struct Sum {
    slots: [u64; SLOTS],
    oldest: usize,
    open: u64,
}

impl Sum {
    fn close(&mut self) {
        self.slots[self.oldest] = std::mem::take(&mut self.open);
        self.oldest = (self.oldest + 1) % SLOTS;
    }

    fn closed(&self) -> u64 {
        self.slots.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::tests::at;

    #[test]
    fn a_report_counts_from_the_end_of_its_slot_for_half_a_minute() {
        let mut telemetry = Telemetry::default();
        let (one, two) = (telemetry.join(), telemetry.join());
        let table = [
            (1.0, one, 10, true, (0.0, 0.0, 1.0)),
            (1.9, two, 5, false, (0.0, 0.0, 1.0)),
            // The slot of 2 s is closed, the slot of 10 s is not.
            (2.0, one, 7, false, (15.0, 1.0, 1.0)),
            (10.0, one, 0, false, (22.0, 1.0, 2.0)),
            // Sixteen slots later the first one has expired.
            (31.9, one, 0, false, (22.0, 1.0, 2.0)),
            (32.0, one, 0, false, (7.0, 0.0, 2.0)),
            (69.9, one, 0, false, (0.0, 0.0, 2.0)),
            // The second client was seen before 10 s, which is six slots of 10 s ago.
            (70.0, one, 0, false, (0.0, 0.0, 1.0)),
            (1e6, one, 3, false, (0.0, 0.0, 1.0)),
        ];
        for (seconds, client, sent, throttled, expected) in table {
            let load = telemetry.report(at(seconds), client, sent, throttled);
            let load = (load.requests, load.throttled, load.clients);
            assert_eq!(load, expected, "at {seconds} s");
        }
    }
}
