//! The functions for budgets that many processes share: for a process that makes calls, like those
//! for controllers, and as `budget_…` for the process that has the budget.

use tidegate::queue::Place;
use tidegate::shared::{GRANT_BYTES, REQUEST_BYTES};
use wasm_bindgen::prelude::wasm_bindgen;

use crate::bare::Alone;
use crate::budget::{self, Budget, Past};
use crate::draft::is_worth;
use crate::leases::{self, Leases, Requested};
use crate::policy::WORDS;

/// Size of the buffer for a header or a record.
const ROOM: usize = 4_096;

static LEASES: Alone<Leases> = Alone::new(Leases::new());
static BUDGET: Alone<Budget> = Alone::new(Budget::new());

/// A policy's row, and the counters.
static NUMBERS: Alone<[f64; WORDS]> = Alone::new([0.0; WORDS]);
const _: () = assert!(leases::COUNTERS <= WORDS && budget::COUNTERS <= WORDS);

/// A header's name and value, a message, or a record.
static BYTES: Alone<[u8; ROOM]> = Alone::new([0; ROOM]);
const _: () = assert!(REQUEST_BYTES <= ROOM && GRANT_BYTES <= ROOM && budget::RECORD <= ROOM);

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

/// See `Leases::open`; the row is in the numbers.
#[wasm_bindgen]
pub fn open(high: u32, low: u32, now: f64, most: u32) -> i32 {
    NUMBERS.with(|row| LEASES.with(|leases| leases.open(row, [high, low], now, most)))
}

/// See `Leases::close`.
#[wasm_bindgen]
pub fn close(member: u32) {
    LEASES.with(|leases| leases.close(member));
}

/// See `Leases::poll`.
#[wasm_bindgen]
pub fn poll(member: u32, now: f64) -> f64 {
    LEASES.with(|leases| leases.poll(member, now))
}

/// See `Leases::peek`.
#[wasm_bindgen]
pub fn peek(member: u32, now: f64) -> f64 {
    LEASES.with(|leases| leases.peek(member, now))
}

/// See `Leases::join`. A call costs one.
#[wasm_bindgen]
#[expect(clippy::too_many_arguments, reason = "only numbers can be passed from JavaScript")]
pub fn join(
    member: u32,
    call: u32,
    now: f64,
    deadline: f64,
    _requests: f64,
    _tokens: f64,
    priority: u32,
    turn: f64,
) -> f64 {
    let place = Place::new(priority as u8, turn as u64);
    LEASES.with(|leases| leases.join(member, Requested { call, deadline }, place, now))
}

/// See `Leases::next`.
#[wasm_bindgen]
pub fn next(member: u32, now: f64) -> f64 {
    LEASES.with(|leases| leases.next(member, now))
}

/// See `Told::given`.
#[wasm_bindgen]
pub fn given() -> f64 {
    LEASES.with(|leases| leases.told.given())
}

/// See `Leases::first`.
#[wasm_bindgen]
pub fn first(member: u32, now: f64) -> i32 {
    LEASES.with(|leases| leases.first(member, now))
}

/// See `Leases::cancel`.
#[wasm_bindgen]
pub fn cancel(member: u32, slot: u32, turn: f64) {
    LEASES.with(|leases| leases.cancel(member, slot, turn));
}

/// See `Told::reason`.
#[wasm_bindgen]
pub fn reason() -> u32 {
    LEASES.with(|leases| leases.told.reason())
}

/// See `Told::late`.
#[wasm_bindgen]
pub fn late() -> f64 {
    LEASES.with(|leases| leases.told.late())
}

/// See `Leases::why`.
#[wasm_bindgen]
pub fn why(member: u32, call: u32, now: f64, deadline: f64) -> u32 {
    LEASES.with(|leases| leases.why(member, Requested { call, deadline }, now))
}

/// See `Leases::settle`: the outcome is reported to the coordinator, and the call's place is free.
#[wasm_bindgen]
pub fn learn(member: u32, permit: f64, now: f64) {
    LEASES.with(|leases| leases.settle(member, permit, now));
}

/// No effect: nothing has to be freed.
#[wasm_bindgen]
pub fn release(_member: u32, _permit: f64) {}

/// See `Leases::retry`.
#[wasm_bindgen]
pub fn retry(member: u32, call: u32, now: f64, deadline: f64) -> i32 {
    LEASES.with(|leases| leases.retry(member, Requested { call, deadline }, now))
}

/// See `Leases::not_before`.
#[wasm_bindgen]
pub fn not_before(call: u32) -> f64 {
    LEASES.with(|leases| leases.not_before(call))
}

/// See `Leases::forget`.
#[wasm_bindgen]
pub fn forget(call: u32) {
    LEASES.with(|leases| leases.forget(call));
}

/// See `Draft::answer`.
#[wasm_bindgen]
pub fn answer(outcome: u32, cooldown: f64) {
    LEASES.with(|leases| leases.draft.answer(outcome, cooldown));
}

/// See `Draft::status`.
#[wasm_bindgen]
pub fn status(status: u32) {
    LEASES.with(|leases| leases.draft.status(status));
}

/// See `Draft::header`: the length of the name, and the length of name and value together. Both are
/// in the bytes, the value directly after the name.
#[wasm_bindgen]
pub fn header(name: usize, both: usize) {
    BYTES.with(|bytes| {
        let parts = bytes.get(..both).and_then(|both| both.split_at_checked(name));
        if let Some((name, value)) = parts {
            LEASES.with(|leases| leases.draft.header(name, value));
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
            LEASES.with(|leases| leases.draft.body(bytes));
        }
    });
}

/// See `Draft::read`.
#[wasm_bindgen]
pub fn read(clock: f64) -> u32 {
    LEASES.with(|leases| leases.draft.read(clock))
}

/// See `Draft::cooldown`.
#[wasm_bindgen]
pub fn cooldown() -> f64 {
    LEASES.with(|leases| leases.draft.cooldown())
}

/// See `Leases::request_at`.
#[wasm_bindgen]
pub fn request_at(member: u32) -> f64 {
    LEASES.with(|leases| leases.request_at(member))
}

/// Writes a request into the bytes; see `Leases::request`.
#[wasm_bindgen]
pub fn request(member: u32, waiting: u32, now: f64) -> i32 {
    BYTES.with(|bytes| LEASES.with(|leases| leases.request(member, waiting, now, bytes)))
}

/// Writes the last request into the bytes; see `Leases::leave`.
#[wasm_bindgen]
pub fn leave(member: u32, now: f64) -> usize {
    BYTES.with(|bytes| LEASES.with(|leases| leases.leave(member, now, bytes)))
}

/// Reads the grant in the bytes; see `Leases::hear`.
#[wasm_bindgen]
pub fn hear(member: u32, length: usize, waiting: u32, now: f64) -> bool {
    BYTES.with(|bytes| {
        let grant = bytes.get(..length).unwrap_or(&[]);
        LEASES.with(|leases| leases.hear(member, grant, waiting, now))
    })
}

/// See `Leases::miss`.
#[wasm_bindgen]
pub fn miss(member: u32, now: f64) {
    LEASES.with(|leases| leases.miss(member, now));
}

/// See `Leases::interval`.
#[wasm_bindgen]
pub fn interval(member: u32) -> f64 {
    LEASES.with(|leases| leases.interval(member))
}

/// See `Leases::in_hand`.
#[wasm_bindgen]
pub fn in_hand(member: u32) -> usize {
    LEASES.with(|leases| leases.in_hand(member))
}

/// See `Leases::without`.
#[wasm_bindgen]
pub fn without(member: u32) -> u32 {
    LEASES.with(|leases| leases.without(member))
}

/// See `Leases::is_alone`.
#[wasm_bindgen]
pub fn is_alone(member: u32) -> bool {
    LEASES.with(|leases| leases.is_alone(member))
}

/// Writes the counters of `Leases::stats` into the numbers. Returns whether the member exists.
#[wasm_bindgen]
pub fn stats(member: u32) -> bool {
    let told = LEASES.with(|leases| leases.stats(member));
    tell(told.as_ref().map_or(&[], |told| told));
    told.is_some()
}

/// See `Budget::open`; the policy's row is in the numbers.
#[wasm_bindgen]
pub fn budget_open(high: u32, low: u32, now: f64, heartbeat: f64) -> bool {
    NUMBERS.with(|row| BUDGET.with(|budget| budget.open(row, [high, low], now, heartbeat)))
}

/// See `Budget::restore`; the policy's row is in the numbers, the record in the bytes.
#[wasm_bindgen]
pub fn budget_restore(
    high: u32,
    low: u32,
    now: f64,
    heartbeat: f64,
    length: usize,
    away: f64,
    ended: bool,
) -> i32 {
    NUMBERS.with(|row| {
        BYTES.with(|bytes| {
            let past = Past { record: bytes.get(..length).unwrap_or(&[]), away, ended };
            BUDGET.with(|budget| budget.restore(row, [high, low], now, heartbeat, past))
        })
    })
}

/// See `Budget::follow`; the policy's row is in the numbers.
#[wasm_bindgen]
pub fn budget_follow(now: f64, heartbeat: f64) -> bool {
    NUMBERS.with(|row| BUDGET.with(|budget| budget.follow(row, now, heartbeat)))
}

/// Answers the request in the bytes with the grant in the bytes; see `Budget::answer`.
#[wasm_bindgen]
pub fn budget_answer(length: usize, now: f64) -> i32 {
    BYTES.with(|bytes| {
        let mut grant = [0; GRANT_BYTES];
        let request = bytes.get(..length).unwrap_or(&[]);
        let told = BUDGET.with(|budget| budget.answer(request, &mut grant, now));
        for (place, byte) in bytes.iter_mut().zip(grant) {
            *place = byte;
        }
        told
    })
}

/// Writes a record into the bytes; see `Budget::snapshot`.
#[wasm_bindgen]
pub fn budget_snapshot(now: f64) -> usize {
    BYTES.with(|bytes| BUDGET.with(|budget| budget.snapshot(now, bytes)))
}

/// See `Budget::unkept`.
#[wasm_bindgen]
pub fn budget_unkept() {
    BUDGET.with(Budget::unkept);
}

/// Writes the counters of `Budget::stats` into the numbers.
#[wasm_bindgen]
pub fn budget_stats(now: f64) {
    tell(&BUDGET.with(|budget| budget.stats(now)));
}

fn tell(counters: &[f64]) {
    NUMBERS.with(|numbers| {
        for (place, told) in numbers.iter_mut().zip(counters) {
            *place = *told;
        }
    });
}
