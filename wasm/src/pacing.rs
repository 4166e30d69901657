//! The functions for pacing gates, each for a known quota.

use tidegate::gate::Pacing;
use tidegate::{Quota, Verdict};
use wasm_bindgen::prelude::wasm_bindgen;

use crate::arena::Arena;
use crate::bare::Alone;
use crate::number::{Clock, count, millis, quota, span};

struct Desk {
    pacings: Arena<(Pacing, Quota)>,
    clock: Clock,
}

static DESK: Alone<Desk> = Alone::new(Desk { pacings: Arena::new(), clock: Clock::NEW });

/// Creates a pacing gate and returns its slot; -1 if there is no memory, -2 if the quota is
/// invalid. A strict quota has a negative burst.
#[wasm_bindgen]
pub fn pacing_open(calls: f64, period: f64, burst: f64, now: f64) -> i32 {
    let Some(quota) = quota(calls, period, burst) else { return -2 };
    DESK.with(|desk| {
        let slot = desk.pacings.insert((Pacing::new(desk.clock.read(now)), quota));
        slot.and_then(|slot| i32::try_from(slot).ok()).unwrap_or(-1)
    })
}

/// In how many milliseconds a call of this cost may be sent; NaN if it can never be. The cost is
/// charged if the answer is 0, or if the call is `patient`, which reserves that time.
#[wasm_bindgen]
pub fn pacing_take(pacing: u32, cost: f64, patient: bool, now: f64) -> f64 {
    DESK.with(|desk| {
        let now = desk.clock.read(now);
        let Some((pacing, quota)) = desk.pacings.get(pacing) else { return f64::NAN };
        let cost = count(cost);
        let wait = match pacing.check(now, cost, Some(*quota)) {
            Verdict::Admit => 0.0,
            Verdict::Wait(until) => millis(until - now),
            Verdict::Full | Verdict::Reject(_) => return f64::NAN,
        };
        if patient || wait == 0.0 {
            pacing.charge(now, cost, Some(*quota));
        }
        wait
    })
}

#[wasm_bindgen]
pub fn pacing_give(pacing: u32, cost: f64, now: f64) {
    DESK.with(|desk| {
        let now = desk.clock.read(now);
        if let Some((pacing, quota)) = desk.pacings.get(pacing) {
            pacing.correct(now, count(cost), 0, Some(*quota));
        }
    });
}

/// Delays all later calls for a time.
#[wasm_bindgen]
pub fn pacing_delay(pacing: u32, ms: f64, now: f64) {
    DESK.with(|desk| {
        let now = desk.clock.read(now);
        if let (Some((pacing, _)), Some(span)) = (desk.pacings.get(pacing), span(ms)) {
            pacing.delay(now, span);
        }
    });
}

#[wasm_bindgen]
pub fn pacing_close(pacing: u32) {
    DESK.with(|desk| desk.pacings.remove(pacing));
}
