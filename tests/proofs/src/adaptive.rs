//! Steps of `adaptive`, by the files that only its own folder can reach.

#[path = "../../../core/src/law/adaptive/cost.rs"]
mod cost;
#[path = "../../../core/src/law/adaptive/epoch.rs"]
mod epoch;
#[path = "../../../core/src/law/adaptive/event.rs"]
mod event;
#[path = "../../../core/src/law/adaptive/interval.rs"]
mod interval;
#[path = "../../../core/src/law/adaptive/octaves.rs"]
mod octaves;
#[path = "../../../core/src/law/adaptive/open.rs"]
mod open;
#[path = "../../../core/src/law/adaptive/pacer.rs"]
mod pacer;

use crate::numbers::Kind::{self, At, Byte, Four, Two};
use crate::numbers::{Numbers, told_field};
use crate::time::{Instant, Span};
use crate::verdict::Verdict;

use cost::Usual;
use epoch::{Epoch, Habit};
use event::Event;
use interval::Interval;
use octaves::{Fine, OCTAVE};
use open::Open;
use pacer::Pacer;

/// As the folder's own.
const LONGEST_HOLD: Span = Span::from_secs(3_600);
const IDLE_LOG2: u32 = 6;

const INTERVAL: &[Kind] = &[Four];
const EVENT: &[Kind] = &[At, Byte, Byte, Byte];
const EPOCH: &[Kind] = &[Two, Two, Four, Four, Two, Two];
const HABIT: &[Kind] = &[Four, Byte];
const USUAL: &[Kind] = &[Four, Byte];
const PACER: &[Kind] = &[Four, Four, At, At, At];

/// What the step answers; `None` where it is none of these.
pub fn take(step: &str, of: &mut Numbers) -> Option<Vec<u64>> {
    octave(step, of)
        .or_else(|| interval(step, of))
        .or_else(|| epoch(step, of))
        .or_else(|| call(step, of))
        .or_else(|| pacer(step, of))
}

fn octave(step: &str, of: &mut Numbers) -> Option<Vec<u64>> {
    Some(match step {
        "log2" => vec![octaves::log2(of.u64()) as u64],
        "log2_roughly" => vec![octaves::log2_roughly(of.u64()) as u64],
        "log2_of_all" => ends(|part| octaves::log2_of_1_and(part)),
        "exp2" => vec![octaves::exp2(of.i32())],
        // At 24 octaves it is the mantissa itself.
        "exp2_of_all" => ends(|part| octaves::exp2(24 * OCTAVE + part) as Fine),
        _ => return None,
    })
}

/// The least and the largest value for all fractions of an octave, and the furthest that one is below
/// the one before it.
fn ends(value: impl Fn(Fine) -> Fine) -> Vec<u64> {
    let values = (0..OCTAVE).map(value);
    let start = (Fine::MAX, Fine::MIN, 0);
    let (least, most, fall) = values
        .fold((start, Fine::MIN), |((least, most, fall), before), now| {
            ((least.min(now), most.max(now), fall.max(before.saturating_sub(now))), now)
        })
        .0;
    vec![least as u64, most as u64, fall as u64]
}

fn interval(step: &str, of: &mut Numbers) -> Option<Vec<u64>> {
    Some(match step {
        "longer" => {
            let interval: Interval = of.field(INTERVAL)?;
            told_field(&interval.longer(of.i32()), INTERVAL)
        }
        "doubled" => {
            let interval: Interval = of.field(INTERVAL)?;
            told_field(&interval.doubled(of.u32()), INTERVAL)
        }
        "faster" => {
            let interval: Interval = of.field(INTERVAL)?;
            told_field(&interval.faster(of.u32()), INTERVAL)
        }
        "after_cut" => {
            let interval: Interval = of.field(INTERVAL)?;
            told_field(&interval.after_cut(of.u32()), INTERVAL)
        }
        "of_calls" => {
            let (span, calls) = (of.span(), of.u32());
            let (whole, parts) = (Interval::of_calls(span, calls), Interval::of_parts(span, calls));
            let mut answer = told_field(&whole, INTERVAL);
            answer.extend(told_field(&parts, INTERVAL));
            answer.push(whole.span().as_nanos());
            answer
        }
        "event_interval" => {
            let (event, interval): (Event, Interval) = (of.field(EVENT)?, of.field(INTERVAL)?);
            let now = of.instant();
            let dark = Interval::of_span(now.saturating_since(event.at).halved(2));
            let mut answer = told_field(&dark, INTERVAL);
            answer.extend(told_field(&event.interval(interval, now), INTERVAL));
            answer
        }
        "event_miss" => {
            let mut event: Event = of.field(EVENT)?;
            event.miss();
            told_field(&event, EVENT)
        }
        _ => return None,
    })
}

fn epoch(step: &str, of: &mut Numbers) -> Option<Vec<u64>> {
    Some(match step {
        "epoch_cut" => {
            let (mut epoch, at): (Epoch, Interval) = (of.field(EPOCH)?, of.field(INTERVAL)?);
            let mut answer = vec![epoch.next_cut(at).into()];
            answer.extend(told_field(&epoch, EPOCH));
            answer
        }
        "epoch_grow" => {
            let mut epoch: Epoch = of.field(EPOCH)?;
            let (weight, guard) = (of.u32(), of.u32());
            let growth = epoch.grow(weight, guard, of.field(INTERVAL)?);
            let mut answer = vec![growth.into()];
            answer.extend(told_field(&epoch, EPOCH));
            answer
        }
        "epoch_length" => {
            let (mut epoch, longer): (Epoch, bool) = (of.field(EPOCH)?, of.flag());
            if longer {
                epoch.lengthen()
            } else {
                epoch.shorten()
            }
            told_field(&epoch, EPOCH)
        }
        "in_flight" => {
            let epoch: Epoch = of.field(EPOCH)?;
            vec![epoch.weight_in_flight(of.u32()).into()]
        }
        "habit" => {
            let mut habit: Habit = of.field(HABIT)?;
            habit.note(of.u32());
            told_field(&habit, HABIT)
        }
        "habit_weight" => {
            let habit: Habit = of.field(HABIT)?;
            vec![habit.weight(of.field(INTERVAL)?).into()]
        }
        "quota_weight" => {
            let interval: Interval = of.field(INTERVAL)?;
            vec![epoch::weight_of_quota(interval, of.i32()).into()]
        }
        _ => return None,
    })
}

fn call(step: &str, of: &mut Numbers) -> Option<Vec<u64>> {
    Some(match step {
        "usual" => {
            let mut usual: Usual = of.field(USUAL)?;
            let moved = usual.see(of.u32());
            let mut answer = vec![moved as u64];
            answer.extend(told_field(&usual, USUAL));
            answer
        }
        "usual_call" => {
            let (usual, cost): (Usual, u32) = (of.field(USUAL)?, of.u32());
            let takes = usual.interval_of(cost, of.span()).as_nanos();
            vec![takes, usual.parts_of(cost).into(), usual.calls_in(of.u64()).into()]
        }
        "rescaled" => vec![cost::rescaled(of.u32(), of.i32()).into()],
        "quota_anchor" => {
            let (limit, period) = (of.u32(), of.span());
            let anchor = epoch::anchor_of_quota(limit, period);
            let mut answer = vec![anchor as u64];
            answer.extend(told_field(&epoch::interval_of_quota(anchor), INTERVAL));
            answer
        }
        "open" => open(of)?,
        _ => return None,
    })
}

/// Calls that leave one after the other: after each the block's interval and the one in force.
fn open(of: &mut Numbers) -> Option<Vec<u64>> {
    let (mut now, round_trip) = (of.instant(), of.span());
    let mut open = Open::new(now);
    let mut answer = Vec::new();
    while !of.is_empty() {
        now = now.saturating_add(of.span());
        let (parts, octaves) = (of.u32(), of.i32());
        open.released(now, parts, round_trip);
        if octaves != 0 {
            open.rescale(octaves);
        }
        answer.extend(told_field(&open, &[Two]));
        answer.extend(told_field(&open.interval(now, round_trip), INTERVAL));
    }
    Some(answer)
}

fn pacer(step: &str, of: &mut Numbers) -> Option<Vec<u64>> {
    if !step.starts_with("pacer_") {
        return None;
    }
    let mut pacer: Pacer = of.field(PACER)?;
    let mut answer = Vec::new();
    if let "pacer_advance" | "pacer_back_off" | "pacer_hasten" | "pacer_hold" = step {
        let mut rng = of.rng()?;
        answer.push(rng.clone().next_u32().into());
        match (step, of.instant()) {
            ("pacer_advance", now) => pacer.advance(now, of.span(), of.flag(), &mut rng),
            ("pacer_back_off", now) => pacer.back_off(now, of.span(), &mut rng),
            ("pacer_hold", end) => pacer.hold_until(end, of.span(), &mut rng),
            (_, now) => pacer.hasten(now, &mut rng),
        }
    } else {
        match step {
            "pacer_due_after" => pacer.due_after(of.instant(), of.span()),
            "pacer_postpone" => pacer.postpone(of.span()),
            "pacer_refund" => pacer.advance_by(of.instant(), of.span()),
            _ => {
                return Some(match pacer.check(of.instant()) {
                    Verdict::Go => vec![0, 0],
                    Verdict::Wait(until) => vec![1, until.as_nanos()],
                    _ => vec![7, 0],
                });
            }
        }
    }
    answer.extend(told_field(&pacer, PACER));
    Some(answer)
}
