//! What the image counts. The throttle's promise is checked against the responses themselves, not against its state.

use core::cell::Cell;

use embassy_sync::blocking_mutex::CriticalSectionMutex;
use embassy_time::Instant;

#[derive(Clone, Copy)]
pub struct Counts {
    pub dropped: u32,
    pub delivered: u32,
    /// Calls without a response. The server may have served them.
    pub lost: u32,
    /// Calls that were sent during a cooldown.
    pub early: u32,
    /// The end of the cooldown that the server requested.
    pub quiet: Instant,
}

/// Changes the counts, and returns them.
pub fn count(change: impl FnOnce(&mut Counts)) -> Counts {
    const NONE: Counts =
        Counts { dropped: 0, delivered: 0, lost: 0, early: 0, quiet: Instant::MIN };
    static COUNTS: CriticalSectionMutex<Cell<Counts>> = CriticalSectionMutex::new(Cell::new(NONE));
    COUNTS.lock(|counts| {
        let mut changed = counts.get();
        change(&mut changed);
        counts.set(changed);
        changed
    })
}
