//! What the server asked for: to be left alone until then. The throttle's promise is checked here
//! against the answers themselves, and not against what the throttle made of them.

use core::cell::Cell;

use embassy_sync::blocking_mutex::CriticalSectionMutex;
use embassy_time::{Duration, Instant};

static UNTIL: CriticalSectionMutex<Cell<Instant>> =
    CriticalSectionMutex::new(Cell::new(Instant::MIN));
static BROKEN: CriticalSectionMutex<Cell<u32>> = CriticalSectionMutex::new(Cell::new(0));

/// A throttled call, which the throttle is told of at this moment, asked for so long.
pub fn asked(cooldown: Duration) {
    let until = Instant::now().saturating_add(cooldown);
    UNTIL.lock(|latest| latest.set(latest.get().max(until)));
}

/// A call is sent.
pub fn leaving() {
    let (now, until) = (Instant::now(), UNTIL.lock(Cell::get));
    if now < until {
        BROKEN.lock(|broken| broken.set(broken.get() + 1));
        defmt::error!("a call has been sent {} ms too early", (until - now).as_millis());
    }
}

/// How many calls have been sent in a cooldown.
pub fn broken() -> u32 {
    BROKEN.lock(Cell::get)
}
