//! Any messages to a coordinator or a member of a shared budget: garbage, valid ones that were
//! modified with a new checksum, late and duplicate ones.

mod coordinator;
mod member;
mod message;

use tidegate_promises::Input;

/// The receiver, followed by events.
pub fn try_with(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    match input.u8() % 2 {
        0 => coordinator::happen(input),
        _ => member::happen(input),
    }
}
