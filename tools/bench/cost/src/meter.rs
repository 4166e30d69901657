//! The meter: one function that callgrind is told to count in.

/// So many calls only warm up: they bring a law to where it stays.
pub const WARMING: u32 = 2_000;
/// So many are measured.
pub const MEASURED: u32 = 10_000;

/// Calls `turn` for each call of a run, with whether that one is measured.
pub fn run(mut turn: impl FnMut(bool)) {
    for call in 0..WARMING + MEASURED {
        turn(call >= WARMING);
    }
}

/// Does `work`, in the meter where this call is measured.
pub fn meter<R>(on: bool, work: impl FnOnce() -> R) -> R {
    if on { measured(work) } else { work() }
}

/// What callgrind counts: the work, and as much more as the subject `empty` has.
#[inline(never)]
fn measured<R>(work: impl FnOnce() -> R) -> R {
    work()
}
