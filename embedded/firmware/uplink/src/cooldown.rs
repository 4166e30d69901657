//! The cooldown that the server requested. The throttle's promise is checked against the responses
//! themselves, not against the throttle's state.

use core::cell::Cell;

use embassy_sync::blocking_mutex::CriticalSectionMutex;
use embassy_time::{Duration, Instant};

static UNTIL: CriticalSectionMutex<Cell<Instant>> =
    CriticalSectionMutex::new(Cell::new(Instant::MIN));
static BROKEN: CriticalSectionMutex<Cell<u32>> = CriticalSectionMutex::new(Cell::new(0));

/// The throttle has just received a throttled call that requested this cooldown.
pub fn asked(cooldown: Duration) {
    let until = Instant::now().saturating_add(cooldown);
    UNTIL.lock(|latest| latest.set(latest.get().max(until)));
}

/// A call is sent.
pub fn leaving() {
    let (now, until) = (Instant::now(), UNTIL.lock(Cell::get));
    if now < until {
        BROKEN.lock(|broken| broken.set(broken.get() + 1));
        defmt::error!("a call was sent {} ms too early", (until - now).as_millis());
    }
}

/// How many calls were sent during a cooldown.
pub fn broken() -> u32 {
    BROKEN.lock(Cell::get)
}
