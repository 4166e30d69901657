//! What JavaScript calls for controllers.

#[cfg(feature = "gate")]
use tidegate::signal::body::is_stream;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::common::exports;
#[cfg(feature = "gate")]
use crate::common::more_exports;
#[cfg(feature = "full")]
use crate::common::{ROOM, Requested};
use crate::controllers::Desk;
#[cfg(feature = "gate")]
use crate::controllers::{COUNTERS, counts};
#[cfg(any(feature = "gate", not(target_arch = "wasm32")))]
use crate::policy::WORDS;

exports!(Desk);
#[cfg(feature = "gate")]
more_exports!();

#[cfg(feature = "gate")]
const _: () = assert!(COUNTERS <= WORDS);

/// Writes the numbers, which JavaScript does itself.
#[cfg(not(target_arch = "wasm32"))]
pub fn set_row(row: &[f64; WORDS]) {
    NUMBERS.with(|numbers| *numbers = *row);
}

/// See `Desk::restore`; the policy's row is in the numbers, the record in the bytes.
#[cfg(feature = "full")]
#[wasm_bindgen]
pub fn restore(high: u32, low: u32, now: f64, length: usize, away: f64, most: u32) -> i32 {
    NUMBERS.with(|row| {
        BYTES.with(|bytes| {
            let record = bytes.get(..length).unwrap_or(&[]);
            DESK.with(|desk| desk.restore(row, [high, low], now, record, away, most))
        })
    })
}

/// See `Desk::follow`; the policy's row is in the numbers.
#[wasm_bindgen]
pub fn follow(gate: u32, now: f64) -> bool {
    NUMBERS.with(|row| DESK.with(|desk| desk.follow(gate, row, now)))
}

#[wasm_bindgen]
pub fn reset(gate: u32, now: f64) {
    DESK.with(|desk| desk.reset(gate, now));
}

#[wasm_bindgen]
pub fn learn(gate: u32, permit: f64, now: f64) {
    DESK.with(|desk| desk.learn(gate, permit, now));
}

#[wasm_bindgen]
pub fn release(gate: u32, permit: f64, now: f64) {
    DESK.with(|desk| desk.release(gate, permit, now));
}

/// The next `join` is of a call that was in that queue before, with a permit of that key or -1.
#[cfg(feature = "full")]
#[wasm_bindgen]
pub fn again(permit: f64) {
    DESK.with(|desk| desk.again = Some(permit));
}

#[cfg(feature = "full")]
#[wasm_bindgen]
#[expect(clippy::too_many_arguments, reason = "only numbers can be passed from JavaScript")]
pub fn keeps_until(
    gate: u32,
    slot: i32,
    call: u32,
    now: f64,
    requests: f64,
    tokens: f64,
    since: f64,
    delayed: f64,
) -> f64 {
    let requested = Requested { call, deadline: f64::NAN, costs: [requests, tokens] };
    DESK.with(|desk| desk.keeps_until(gate, slot, requested, now, [since, delayed]))
}

#[cfg(feature = "full")]
#[wasm_bindgen]
pub fn lend(gate: u32, permit: f64, call: u32, requests: f64, tokens: f64, until: f64) {
    let requested = Requested { call, deadline: f64::NAN, costs: [requests, tokens] };
    DESK.with(|desk| desk.lend(gate, permit, requested, until));
}

#[cfg(feature = "full")]
#[wasm_bindgen]
pub fn refund(gate: u32, permit: f64, now: f64) {
    DESK.with(|desk| desk.refund(gate, permit, now));
}

#[cfg(feature = "full")]
#[wasm_bindgen]
pub fn learn_beside(gate: u32, permit: f64, beside: u32, last: f64, now: f64) {
    DESK.with(|desk| desk.learn_beside(gate, permit, (beside, last), now));
}

#[cfg(feature = "full")]
#[wasm_bindgen]
pub fn retry_beside(gate: u32, call: u32, now: f64, deadline: f64, requests: f64, tokens: f64) {
    let requested = Requested { call, deadline, costs: [requests, tokens] };
    DESK.with(|desk| desk.retry_beside(gate, requested, now));
}

#[wasm_bindgen]
pub fn pause(gate: u32, paused: bool) {
    DESK.with(|desk| desk.pause(gate, paused));
}

/// Whether a response with the media type in the bytes reports tokens as a stream.
#[cfg(feature = "gate")]
#[wasm_bindgen]
pub fn streams(length: usize) -> bool {
    BYTES.with(|bytes| bytes.get(..length).is_some_and(is_stream))
}

/// See `Desk::stream`; the bytes are in the buffer.
#[cfg(feature = "gate")]
#[wasm_bindgen]
pub fn stream(gate: u32, permit: f64, length: usize, now: f64) {
    BYTES.with(|bytes| {
        let bytes = bytes.get(..length).unwrap_or(&[]);
        DESK.with(|desk| desk.stream(gate, permit, bytes, now));
    });
}

/// Adds the actual cost to the reply.
#[cfg(feature = "gate")]
#[wasm_bindgen]
pub fn used(requests: f64, tokens: f64) {
    DESK.with(|desk| desk.draft.reply.used = counts([requests, tokens]).map(Some));
}

#[wasm_bindgen]
pub fn interval(gate: u32, limit: u32, now: f64) -> f64 {
    DESK.with(|desk| desk.interval(gate, limit, now))
}

/// Writes a record into the bytes; see `Desk::snapshot`.
#[cfg(feature = "full")]
#[wasm_bindgen]
pub fn snapshot(gate: u32, now: f64) -> usize {
    BYTES.with(|bytes| DESK.with(|desk| desk.snapshot(gate, now, bytes)))
}

#[cfg(feature = "full")]
const _: () = assert!(crate::Controller::SNAPSHOT_BYTES <= ROOM);
