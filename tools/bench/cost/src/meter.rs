//! The function in which callgrind counts.

/// Calls for warm-up, until a law reaches its steady state.
pub const WARMING: u32 = 2_000;
pub const MEASURED: u32 = 10_000;

/// Calls `turn` for each call of a run, with whether it is measured.
pub fn run(mut turn: impl FnMut(bool)) {
    for call in 0..WARMING + MEASURED {
        turn(call >= WARMING);
    }
}

/// Does `work`, inside the measured function if this call is measured.
pub fn meter<R>(on: bool, work: impl FnOnce() -> R) -> R {
    if on { measured(work) } else { work() }
}

/// The function that callgrind counts: the work plus the overhead of the subject `empty`.
#[inline(never)]
fn measured<R>(work: impl FnOnce() -> R) -> R {
    work()
}
