//! What JavaScript calls for controllers.

#[cfg(feature = "gate")]
use tidegate::signal::body::is_stream;
use wasm_bindgen::prelude::wasm_bindgen;

#[cfg(feature = "gate")]
use crate::common::more_exports;
#[cfg(feature = "full")]
use crate::common::{ROOM, Requested};
use crate::common::{exports, functions};
use crate::controllers::Desk;
#[cfg(feature = "gate")]
use crate::controllers::{COUNTERS, counts};

exports!(Desk);
#[cfg(feature = "gate")]
more_exports!();

#[cfg(feature = "gate")]
const _: () = assert!(COUNTERS <= crate::policy::WORDS);
#[cfg(feature = "full")]
const _: () = assert!(crate::Controller::SNAPSHOT_BYTES <= ROOM);

functions! { DESK, desk:
    fn reset(gate: u32, now: f64) = desk.reset(gate, now);
    fn learn(gate: u32, permit: f64, now: f64) = desk.learn(gate, permit, now);
    fn release(gate: u32, permit: f64, now: f64) = desk.release(gate, permit, now);
    fn pause(gate: u32, paused: bool) = desk.pause(gate, paused);
    fn interval(gate: u32, limit: u32, now: f64) -> f64 = desk.interval(gate, limit, now);
}

functions! { NUMBERS, row:
    /// See `Desk::follow`; the policy's row is in the numbers.
    fn follow(gate: u32, now: f64) -> bool = DESK.with(|desk| desk.follow(gate, row, now));
}

#[cfg(feature = "gate")]
functions! { DESK, desk:
    /// Adds the actual cost to the reply.
    fn used(requests: f64, tokens: f64) =
        desk.draft.reply.used = counts([requests, tokens]).map(Some);
}

#[cfg(feature = "gate")]
functions! { BYTES, bytes:
    /// Whether a response with the media type in the bytes reports tokens as a stream.
    fn streams(length: usize) -> bool = bytes.get(..length).is_some_and(is_stream);
    /// See `Desk::stream`; the bytes are in the buffer.
    fn stream(gate: u32, permit: f64, length: usize, now: f64) =
        DESK.with(|desk| desk.stream(gate, permit, bytes.get(..length).unwrap_or(&[]), now));
}

#[cfg(feature = "full")]
functions! { BYTES, bytes:
    /// See `Desk::restore`; the policy's row is in the numbers, the record in the bytes.
    fn restore(high: u32, low: u32, now: f64, length: usize, away: f64, most: u32) -> i32 = {
        let record = bytes.get(..length).unwrap_or(&[]);
        NUMBERS.with(|row| {
            DESK.with(|desk| desk.restore(row, [high, low], now, record, away, most))
        })
    };
    /// Writes a record into the bytes; see `Desk::snapshot`.
    fn snapshot(gate: u32, now: f64) -> usize = DESK.with(|desk| desk.snapshot(gate, now, bytes));
}

#[cfg(feature = "full")]
functions! { DESK, desk:
    /// The next `join` is of a call that was in that queue before, with a permit of that key or -1.
    fn again(permit: f64) = desk.again = Some(permit);
    fn keeps_until(
        gate: u32, slot: i32, call: u32, now: f64,
        requests: f64, tokens: f64, since: f64, delayed: f64
    ) -> f64 = {
        let requested = Requested::new(call, f64::NAN, requests, tokens);
        desk.keeps_until(gate, slot, requested, now, [since, delayed])
    };
    fn lend(gate: u32, permit: f64, call: u32, requests: f64, tokens: f64, until: f64) =
        desk.lend(gate, permit, Requested::new(call, f64::NAN, requests, tokens), until);
    fn refund(gate: u32, permit: f64, now: f64) = desk.refund(gate, permit, now);
    fn learn_beside(gate: u32, permit: f64, beside: u32, last: f64, now: f64) =
        desk.learn_beside(gate, permit, (beside, last), now);
    fn retry_beside(
        gate: u32, call: u32, now: f64, deadline: f64, requests: f64, tokens: f64, level: u32
    ) = {
        let requested = Requested::new(call, deadline, requests, tokens);
        desk.retry_beside(gate, requested, now, crate::number::retry(level))
    };
}
