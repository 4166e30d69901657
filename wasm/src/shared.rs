//! The functions for budgets that many processes share: for a process that makes calls, like those
//! for controllers, and as `budget_…` for the process that has the budgets.

use tidegate::shared::{GRANT_BYTES, REQUEST_BYTES};
use wasm_bindgen::prelude::wasm_bindgen;

use crate::bare::Alone;
use crate::budget::{self, Budgets, Past};
use crate::common::{ROOM, exports, more_exports};
use crate::leases::{self, Leases};
use crate::policy::WORDS;
use crate::standing::Standing;

exports!(Leases);
more_exports!();

static BUDGETS: Alone<Budgets> = Alone::new(Budgets::new());
static STANDING: Alone<Standing> = Alone::new(Standing::new());

const _: () = assert!(leases::COUNTERS <= WORDS && budget::COUNTERS <= WORDS);
const _: () = assert!(REQUEST_BYTES <= ROOM && GRANT_BYTES <= ROOM && budget::RECORD <= ROOM);

/// See `Leases::settle`: the outcome is reported to the coordinator, and the call's place is free.
#[wasm_bindgen]
pub fn learn(member: u32, permit: f64, now: f64) {
    DESK.with(|desk| desk.settle(member, permit, now));
}

/// No effect: nothing has to be freed.
#[wasm_bindgen]
pub fn release(_member: u32, _permit: f64) {}

/// See `Leases::request_at`.
#[wasm_bindgen]
pub fn request_at(member: u32) -> f64 {
    DESK.with(|desk| desk.request_at(member))
}

/// Writes a request into the bytes; see `Leases::request`.
#[wasm_bindgen]
pub fn request(member: u32, waiting: u32, now: f64) -> i32 {
    BYTES.with(|bytes| DESK.with(|desk| desk.request(member, waiting, now, bytes)))
}

/// Writes the last request into the bytes; see `Leases::leave`.
#[wasm_bindgen]
pub fn leave(member: u32, now: f64) -> usize {
    BYTES.with(|bytes| DESK.with(|desk| desk.leave(member, now, bytes)))
}

/// Reads the grant in the bytes; see `Leases::hear`.
#[wasm_bindgen]
pub fn hear(member: u32, length: usize, waiting: u32, now: f64) -> bool {
    BYTES.with(|bytes| {
        let grant = bytes.get(..length).unwrap_or(&[]);
        DESK.with(|desk| desk.hear(member, grant, waiting, now))
    })
}

/// See `Leases::miss`.
#[wasm_bindgen]
pub fn miss(member: u32, now: f64) {
    DESK.with(|desk| desk.miss(member, now));
}

/// See `Leases::interval`.
#[wasm_bindgen]
pub fn interval(member: u32) -> f64 {
    DESK.with(|desk| desk.interval(member))
}

/// See `Leases::available_leases`.
#[wasm_bindgen]
pub fn available_leases(member: u32) -> usize {
    DESK.with(|desk| desk.available_leases(member))
}

/// See `Leases::without`.
#[wasm_bindgen]
pub fn without(member: u32) -> u32 {
    DESK.with(|desk| desk.without(member))
}

/// See `Leases::is_alone`.
#[wasm_bindgen]
pub fn is_alone(member: u32) -> bool {
    DESK.with(|desk| desk.is_alone(member))
}

/// See `Budgets::open`; the policy's row is in the numbers, the record in the bytes.
#[wasm_bindgen]
pub fn budget_open(
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
            BUDGETS.with(|budgets| budgets.open(row, [high, low], now, heartbeat, past))
        })
    })
}

/// See `Budgets::close`.
#[wasm_bindgen]
pub fn budget_close(budget: u32) {
    BUDGETS.with(|budgets| budgets.close(budget));
}

/// See `Budgets::follow`; the policy's row is in the numbers.
#[wasm_bindgen]
pub fn budget_follow(budget: u32, now: f64, heartbeat: f64) -> bool {
    NUMBERS.with(|row| BUDGETS.with(|budgets| budgets.follow(budget, row, now, heartbeat)))
}

/// Answers the request in the bytes with the grant in the bytes; see `Budgets::answer`.
#[wasm_bindgen]
pub fn budget_answer(budget: u32, length: usize, now: f64) -> i32 {
    BYTES.with(|bytes| {
        let mut grant = [0; GRANT_BYTES];
        let request = bytes.get(..length).unwrap_or(&[]);
        let told = BUDGETS.with(|budgets| budgets.answer(budget, request, &mut grant, now));
        for (place, byte) in bytes.iter_mut().zip(grant) {
            *place = byte;
        }
        told
    })
}

/// The sender of the request in the bytes has ended; see `Budgets::ended`.
#[wasm_bindgen]
pub fn budget_ended(budget: u32, length: usize, now: f64) {
    BYTES.with(|bytes| {
        BUDGETS.with(|budgets| budgets.ended(budget, bytes.get(..length).unwrap_or(&[]), now));
    });
}

/// Writes a record into the bytes; see `Budgets::snapshot`.
#[wasm_bindgen]
pub fn budget_snapshot(budget: u32, now: f64) -> usize {
    BYTES.with(|bytes| BUDGETS.with(|budgets| budgets.snapshot(budget, now, bytes)))
}

/// See `Budgets::unkept`.
#[wasm_bindgen]
pub fn budget_unkept(budget: u32) {
    BUDGETS.with(|budgets| budgets.unkept(budget));
}

/// Writes the counters of `Budgets::stats` into the numbers.
#[wasm_bindgen]
pub fn budget_stats(budget: u32, now: f64) {
    tell(&BUDGETS.with(|budgets| budgets.stats(budget, now)));
}

/// See `Standing::open`; the policy's row is in the numbers.
#[wasm_bindgen]
pub fn standing_open(heartbeat: f64) -> f64 {
    NUMBERS.with(|row| STANDING.with(|standing| standing.open(row, heartbeat)))
}

/// See `Standing::ask`.
#[wasm_bindgen]
pub fn standing_ask(now: f64) {
    STANDING.with(|standing| standing.ask(now));
}

/// See `Standing::start`.
#[wasm_bindgen]
pub fn standing_start(today: f64) -> f64 {
    STANDING.with(|standing| standing.start(today))
}

/// See `Standing::hold`.
#[wasm_bindgen]
pub fn standing_hold(start: f64) {
    STANDING.with(|standing| standing.hold(start));
}

/// See `Standing::lost`.
#[wasm_bindgen]
pub fn standing_lost(now: f64) {
    STANDING.with(|standing| standing.lost(now));
}

/// See `Standing::has_joined`.
#[wasm_bindgen]
pub fn standing_has_joined(now: f64) -> bool {
    STANDING.with(|standing| standing.has_joined(now))
}

/// See `Standing::meet`.
#[wasm_bindgen]
pub fn standing_meet(now: f64, today: f64, start: f64, digest: u32) -> u32 {
    STANDING.with(|standing| standing.meet(now, today, start, digest))
}
