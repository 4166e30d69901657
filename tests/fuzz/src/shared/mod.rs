//! Any messages to a shared budget's coordinator, and to a member: garbage, true ones that somebody
//! has bent and signed again, late and doubled ones.

mod coordinator;
mod member;
mod message;

use tidegate_promises::Input;

/// Who hears them, and then what happens.
pub fn try_with(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    match input.u8() % 2 {
        0 => coordinator::happen(input),
        _ => member::happen(input),
    }
}
