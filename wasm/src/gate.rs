//! What JavaScript calls for controllers.

use tidegate::queue::Place;
use tidegate::signal::body::is_stream;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::bare::Alone;
use crate::desk::{COUNTERS, Desk, Requested, counts};
use crate::draft::is_worth;
use crate::policy::WORDS;

/// Size of the buffer for a header or a record.
const ROOM: usize = 4_096;

static DESK: Alone<Desk> = Alone::new(Desk::new());

/// A policy's row, and the counters.
static NUMBERS: Alone<[f64; WORDS]> = Alone::new([0.0; WORDS]);
const _: () = assert!(COUNTERS <= WORDS);

/// A header's name and value, or a record.
static BYTES: Alone<[u8; ROOM]> = Alone::new([0; ROOM]);

/// The address of the numbers.
#[wasm_bindgen]
pub fn numbers() -> *mut f64 {
    NUMBERS.place().cast()
}

/// The address of the bytes.
#[wasm_bindgen]
pub fn bytes() -> *mut u8 {
    BYTES.place().cast()
}

/// Writes the numbers, which JavaScript does itself.
#[cfg(not(target_arch = "wasm32"))]
pub fn set_row(row: &[f64; WORDS]) {
    NUMBERS.with(|numbers| *numbers = *row);
}

/// See `Desk::open`; the policy's row is in the numbers.
#[wasm_bindgen]
pub fn open(high: u32, low: u32, now: f64, most: u32) -> i32 {
    NUMBERS.with(|row| DESK.with(|desk| desk.open(row, [high, low], now, most)))
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

/// See `Desk::close`.
#[wasm_bindgen]
pub fn close(gate: u32) {
    DESK.with(|desk| desk.close(gate));
}

/// See `Desk::follow`; the policy's row is in the numbers.
#[wasm_bindgen]
pub fn follow(gate: u32, now: f64) -> bool {
    NUMBERS.with(|row| DESK.with(|desk| desk.follow(gate, row, now)))
}

/// See `Desk::reset`.
#[wasm_bindgen]
pub fn reset(gate: u32, now: f64) {
    DESK.with(|desk| desk.reset(gate, now));
}

/// See `Desk::poll`.
#[wasm_bindgen]
pub fn poll(gate: u32, now: f64, requests: f64, tokens: f64) -> f64 {
    DESK.with(|desk| desk.poll(gate, now, [requests, tokens]))
}

/// See `Desk::join`.
#[wasm_bindgen]
#[expect(clippy::too_many_arguments, reason = "only numbers can be passed from JavaScript")]
pub fn join(
    gate: u32,
    call: u32,
    now: f64,
    deadline: f64,
    requests: f64,
    tokens: f64,
    priority: u32,
    turn: f64,
) -> f64 {
    let requested = Requested { call, deadline, costs: [requests, tokens] };
    DESK.with(|desk| desk.join(gate, requested, Place::new(priority as u8, turn as u64), now))
}

/// See `Desk::next`.
#[wasm_bindgen]
pub fn next(gate: u32, now: f64) -> f64 {
    DESK.with(|desk| desk.next(gate, now))
}

/// See `Told::given`.
#[wasm_bindgen]
pub fn given() -> f64 {
    DESK.with(|desk| desk.told.given())
}

/// See `Desk::first`.
#[wasm_bindgen]
pub fn first(gate: u32, now: f64) -> i32 {
    DESK.with(|desk| desk.first(gate, now))
}

/// See `Desk::cancel`.
#[wasm_bindgen]
pub fn cancel(gate: u32, slot: u32, turn: f64) {
    DESK.with(|desk| desk.cancel(gate, slot, turn));
}

/// See `Told::reason`.
#[wasm_bindgen]
pub fn reason() -> u32 {
    DESK.with(|desk| desk.told.reason())
}

/// See `Told::late`.
#[wasm_bindgen]
pub fn late() -> f64 {
    DESK.with(|desk| desk.told.late())
}

/// See `Desk::why`.
#[wasm_bindgen]
pub fn why(gate: u32, call: u32, now: f64, deadline: f64, requests: f64, tokens: f64) -> u32 {
    let requested = Requested { call, deadline, costs: [requests, tokens] };
    DESK.with(|desk| desk.why(gate, requested, now))
}

/// See `Desk::learn`.
#[wasm_bindgen]
pub fn learn(gate: u32, permit: f64, now: f64) {
    DESK.with(|desk| desk.learn(gate, permit, now));
}

/// See `Desk::release`.
#[wasm_bindgen]
pub fn release(gate: u32, permit: f64) {
    DESK.with(|desk| desk.release(gate, permit));
}

/// The next `join` is of a call that was in that queue before, with a permit of that key or -1: see `Kept::rejoin`.
#[cfg(feature = "full")]
#[wasm_bindgen]
pub fn again(permit: f64) {
    DESK.with(|desk| desk.again = Some(permit));
}

/// See `Desk::keeps_until`.
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

/// See `Desk::lend`.
#[cfg(feature = "full")]
#[wasm_bindgen]
pub fn lend(gate: u32, permit: f64, call: u32, requests: f64, tokens: f64, until: f64) {
    let requested = Requested { call, deadline: f64::NAN, costs: [requests, tokens] };
    DESK.with(|desk| desk.lend(gate, permit, requested, until));
}

/// See `Desk::refund`.
#[cfg(feature = "full")]
#[wasm_bindgen]
pub fn refund(gate: u32, permit: f64, now: f64) {
    DESK.with(|desk| desk.refund(gate, permit, now));
}

/// See `Desk::learn_beside`.
#[cfg(feature = "full")]
#[wasm_bindgen]
pub fn learn_beside(gate: u32, permit: f64, last: f64, now: f64) {
    DESK.with(|desk| desk.learn_beside(gate, permit, last, now));
}

/// See `Desk::retry_beside`.
#[cfg(feature = "full")]
#[wasm_bindgen]
pub fn retry_beside(gate: u32, call: u32, now: f64, deadline: f64, requests: f64, tokens: f64) {
    let requested = Requested { call, deadline, costs: [requests, tokens] };
    DESK.with(|desk| desk.retry_beside(gate, requested, now));
}

/// See `Desk::pause`.
#[wasm_bindgen]
pub fn pause(gate: u32, paused: bool) {
    DESK.with(|desk| desk.pause(gate, paused));
}

/// See `Desk::peek`.
#[wasm_bindgen]
pub fn peek(gate: u32, now: f64) -> f64 {
    DESK.with(|desk| desk.peek(gate, now))
}

/// See `Desk::retry`.
#[wasm_bindgen]
pub fn retry(gate: u32, call: u32, now: f64, deadline: f64, requests: f64, tokens: f64) -> i32 {
    let requested = Requested { call, deadline, costs: [requests, tokens] };
    DESK.with(|desk| desk.retry(gate, requested, now))
}

/// See `Desk::not_before`.
#[wasm_bindgen]
pub fn not_before(call: u32) -> f64 {
    DESK.with(|desk| desk.not_before(call))
}

/// See `Desk::forget`.
#[wasm_bindgen]
pub fn forget(call: u32) {
    DESK.with(|desk| desk.forget(call));
}

/// See `Draft::answer`.
#[wasm_bindgen]
pub fn answer(outcome: u32, cooldown: f64) {
    DESK.with(|desk| desk.draft.answer(outcome, cooldown));
}

/// See `Draft::status`.
#[wasm_bindgen]
pub fn status(status: u32) {
    DESK.with(|desk| desk.draft.status(status));
}

/// See `Draft::header`: the length of the name, and the length of name and value together. Both are
/// in the bytes, the value directly after the name.
#[wasm_bindgen]
pub fn header(name: usize, both: usize) {
    BYTES.with(|bytes| {
        let parts = bytes.get(..both).and_then(|both| both.split_at_checked(name));
        if let Some((name, value)) = parts {
            DESK.with(|desk| desk.draft.header(name, value));
        }
    });
}

/// See `draft::is_worth`; the media type is in the bytes.
#[wasm_bindgen]
pub fn worth(status: u32, length: usize, may_be_graphql: bool) -> bool {
    BYTES.with(|bytes| {
        bytes.get(..length).is_some_and(|media| is_worth(status, media, may_be_graphql))
    })
}

/// See `Draft::body`: reads this many of the bytes.
#[wasm_bindgen]
pub fn body(length: usize) {
    BYTES.with(|bytes| {
        if let Some(bytes) = bytes.get(..length) {
            DESK.with(|desk| desk.draft.body(bytes));
        }
    });
}

/// See `Draft::read`.
#[wasm_bindgen]
pub fn read(clock: f64) -> u32 {
    DESK.with(|desk| desk.draft.read(clock))
}

/// See `Draft::cooldown`.
#[wasm_bindgen]
pub fn cooldown() -> f64 {
    DESK.with(|desk| desk.draft.cooldown())
}

/// Whether a response with the media type in the bytes reports tokens as a stream.
#[wasm_bindgen]
pub fn streams(length: usize) -> bool {
    BYTES.with(|bytes| bytes.get(..length).is_some_and(is_stream))
}

/// See `Desk::stream`; the bytes are in the buffer.
#[wasm_bindgen]
pub fn stream(gate: u32, permit: f64, length: usize, now: f64) {
    BYTES.with(|bytes| {
        let bytes = bytes.get(..length).unwrap_or(&[]);
        DESK.with(|desk| desk.stream(gate, permit, bytes, now));
    });
}

/// Adds the actual cost to the reply.
#[wasm_bindgen]
pub fn used(requests: f64, tokens: f64) {
    DESK.with(|desk| desk.draft.reply.used = counts([requests, tokens]).map(Some));
}

/// See `Desk::interval`.
#[wasm_bindgen]
pub fn interval(gate: u32, limit: u32, now: f64) -> f64 {
    DESK.with(|desk| desk.interval(gate, limit, now))
}

/// Writes the counters of `Desk::stats` into the numbers. Returns whether the controller exists.
#[wasm_bindgen]
pub fn stats(gate: u32) -> bool {
    let Some(told) = DESK.with(|desk| desk.stats(gate)) else { return false };
    NUMBERS.with(|numbers| {
        for (place, told) in numbers.iter_mut().zip(told) {
            *place = told;
        }
    });
    true
}

/// Writes a record into the bytes; see `Desk::snapshot`.
#[cfg(feature = "full")]
#[wasm_bindgen]
pub fn snapshot(gate: u32, now: f64) -> usize {
    BYTES.with(|bytes| DESK.with(|desk| desk.snapshot(gate, now, bytes)))
}

#[cfg(feature = "full")]
const _: () = assert!(crate::Controller::SNAPSHOT_BYTES <= ROOM);
