//! The server's counts by caller. All figures of a report come from them.

use super::Nanos;
use serde::Serialize;
use std::ops::AddAssign;

/// The calls of one caller by result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Row {
    /// All calls that arrived.
    pub offered: u64,
    /// Calls admitted by the policy.
    pub served: u64,
    /// Calls throttled by the policy.
    pub throttled: u64,
    /// Calls rejected during the outage.
    pub outage: u64,
    /// Served calls whose response was written to the connection.
    pub delivered: u64,
}

impl AddAssign for Row {
    fn add_assign(&mut self, other: Row) {
        self.offered += other.offered;
        self.served += other.served;
        self.throttled += other.throttled;
        self.outage += other.outage;
        self.delivered += other.delivered;
    }
}

/// One row per caller. Row 0 is for anonymous calls.
///
/// Calls after closing time are counted separately: they get a response, but the figures describe a
/// run of a known length.
#[derive(Debug)]
pub struct Ledger {
    /// The rows up to closing time, anonymous calls first.
    pub in_time: Vec<Row>,
    late: Vec<Row>,
    pub closing: Nanos,
}

impl Ledger {
    pub fn new(callers: usize) -> Self {
        let rows = vec![Row::default(); callers + 1];
        Ledger { in_time: rows.clone(), late: rows, closing: Nanos::MAX }
    }

    /// The time up to which calls count.
    pub fn end(&self, now: Nanos) -> Nanos {
        self.closing.min(now)
    }

    pub fn row(&mut self, caller: usize, now: Nanos) -> &mut Row {
        let rows = if now < self.closing { &mut self.in_time } else { &mut self.late };
        let caller = if caller < rows.len() { caller } else { 0 };
        &mut rows[caller]
    }

    /// The calls served to each caller, including late ones.
    pub fn served_in_all(&self) -> Vec<u64> {
        let rows = self.in_time.iter().zip(&self.late);
        rows.map(|(row, late)| row.served + late.served).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_at_closing_time_is_late_and_still_counted() {
        let mut ledger = Ledger::new(1);
        ledger.closing = 100;
        for now in [0, 99, 100, 101] {
            ledger.row(1, now).served += 1;
        }
        assert_eq!(ledger.in_time[1].served, 2);
        assert_eq!(ledger.served_in_all()[1], 4);
        assert_eq!((ledger.end(50), ledger.end(500)), (50, 100));
    }

    #[test]
    fn an_unknown_caller_is_counted_as_anonymous() {
        let mut ledger = Ledger::new(2);
        ledger.row(usize::MAX, 0).offered += 1;
        ledger.row(3, 0).offered += 1;
        assert_eq!(ledger.in_time[0].offered, 2);
    }
}
