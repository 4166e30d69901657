//! One budget for a fleet: a coordinator and a member with any messages (garbage, valid ones that were
//! modified with a new checksum, late and duplicate ones), and a whole fleet with faults.

mod coordinator;
mod fleet;
mod member;
mod message;

use tidegate::Instant;

use crate::Input;
pub use fleet::try_with as fleet;

/// The first instant, in nanoseconds. A clock may be hours behind it.
const START: u64 = 1 << 45;

const fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

/// The receiver, followed by events.
pub fn try_with(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    match input.u8() {
        255 => fleet(input.rest()),
        even if even.is_multiple_of(2) => coordinator::happen(input),
        _ => member::happen(input),
    }
}
