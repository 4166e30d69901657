//! The functions for budgets that many processes share: for a process that makes calls, like those
//! for controllers, and as `budget_…` for the process that has the budgets.

use tidegate::shared::{GRANT_BYTES, REQUEST_BYTES};
use wasm_bindgen::prelude::wasm_bindgen;

use crate::bare::Alone;
use crate::budget::{self, Budgets, Past};
use crate::common::{ROOM, exports, functions, more_exports};
use crate::leases::{self, Leases};
use crate::policy::WORDS;
use crate::standing::Standing;

exports!(Leases);
more_exports!();

static BUDGETS: Alone<Budgets> = Alone::new(Budgets::new());
static STANDING: Alone<Standing> = Alone::new(Standing::new());

const _: () = assert!(leases::COUNTERS <= WORDS && budget::COUNTERS <= WORDS);
const _: () = assert!(REQUEST_BYTES <= ROOM && GRANT_BYTES <= ROOM && budget::RECORD <= ROOM);

/// No effect: nothing has to be freed.
#[wasm_bindgen]
pub fn release(_member: u32, _permit: f64) {}

functions! { DESK, desk:
    /// The outcome is reported to the coordinator, and the call's place is free.
    fn learn(member: u32, permit: f64, now: f64) = desk.settle(member, permit, now);
    fn request_at(member: u32) -> f64 = desk.request_at(member);
    fn miss(member: u32, now: f64) = desk.miss(member, now);
    fn interval(member: u32) -> f64 = desk.interval(member);
    fn available_leases(member: u32) -> usize = desk.available_leases(member);
    fn without(member: u32) -> u32 = desk.without(member);
    fn is_alone(member: u32) -> bool = desk.is_alone(member);
}

// Their messages and records are in the bytes, and the policy's row is in the numbers.
functions! { BYTES, bytes:
    fn request(member: u32, waiting: u32, now: f64) -> i32 =
        DESK.with(|desk| desk.request(member, waiting, now, bytes));
    fn leave(member: u32, now: f64) -> usize = DESK.with(|desk| desk.leave(member, now, bytes));
    fn hear(member: u32, length: usize, waiting: u32, now: f64) -> bool =
        DESK.with(|desk| desk.hear(member, bytes.get(..length).unwrap_or(&[]), waiting, now));
    fn budget_open(
        high: u32, low: u32, now: f64, heartbeat: f64, length: usize, away: f64, ended: bool
    ) -> i32 = {
        let past = Past { record: bytes.get(..length).unwrap_or(&[]), away, ended };
        NUMBERS.with(|row| {
            BUDGETS.with(|budgets| budgets.open(row, [high, low], now, heartbeat, past))
        })
    };
    /// Writes the grant into the bytes too.
    fn budget_answer(budget: u32, length: usize, now: f64) -> i32 = {
        let mut grant = [0; GRANT_BYTES];
        let request = bytes.get(..length).unwrap_or(&[]);
        let told = BUDGETS.with(|budgets| budgets.answer(budget, request, &mut grant, now));
        for (place, byte) in bytes.iter_mut().zip(grant) {
            *place = byte;
        }
        told
    };
    fn budget_ended(budget: u32, length: usize, now: f64) =
        BUDGETS.with(|budgets| budgets.ended(budget, bytes.get(..length).unwrap_or(&[]), now));
    fn budget_snapshot(budget: u32, now: f64) -> usize =
        BUDGETS.with(|budgets| budgets.snapshot(budget, now, bytes));
}

functions! { BUDGETS, budgets:
    fn budget_close(budget: u32) = budgets.close(budget);
    fn budget_follow(budget: u32, now: f64, heartbeat: f64) -> bool =
        NUMBERS.with(|row| budgets.follow(budget, row, now, heartbeat));
    fn budget_unkept(budget: u32) = budgets.unkept(budget);
    /// Writes the counters into the numbers.
    fn budget_stats(budget: u32, now: f64) = tell(&budgets.stats(budget, now));
}

functions! { STANDING, standing:
    fn standing_open(heartbeat: f64) -> f64 = NUMBERS.with(|row| standing.open(row, heartbeat));
    fn standing_ask(now: f64) = standing.ask(now);
    fn standing_start(today: f64) -> f64 = standing.start(today);
    fn standing_hold(start: f64) = standing.hold(start);
    fn standing_lost(now: f64) = standing.lost(now);
    fn standing_has_joined(now: f64) -> bool = standing.has_joined(now);
    fn standing_meet(now: f64, today: f64, start: f64, digest: u32) -> u32 =
        standing.meet(now, today, start, digest);
}
