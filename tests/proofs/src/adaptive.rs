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
#[path = "../../../core/src/law/adaptive/pacer.rs"]
mod pacer;

use crate::numbers::Kind::{self, At, Byte, Four, Two};
use crate::numbers::{Numbers, told_field};
use crate::time::Span;
use crate::verdict::Verdict;

use cost::Usual;
use epoch::{Epoch, Habit};
use event::Event;
use interval::Interval;
use pacer::Pacer;

/// As the folder's own.
const LONGEST_HOLD: Span = Span::from_secs(3_600);

const INTERVAL: &[Kind] = &[Four];
const EVENT: &[Kind] = &[At, Byte, Byte, Byte];
const EPOCH: &[Kind] = &[Two, Two, Four, Four, Two, Two];
const HABIT: &[Kind] = &[Four, Byte];
const USUAL: &[Kind] = &[Four, Byte];
const PACER: &[Kind] = &[Four, Four, At, At, At];

/// What the step answers; `None` where it is none of these.
pub fn take(step: &str, of: &mut Numbers) -> Option<Vec<u64>> {
    Some(match step {
        "longer" => {
            let interval: Interval = of.field(INTERVAL)?;
            told_field(&interval.longer(of.i32()), INTERVAL)
        }
        "doubled" => {
            let interval: Interval = of.field(INTERVAL)?;
            told_field(&interval.doubled(of.u32()), INTERVAL)
        }
        "log2" => vec![octaves::log2(of.u64()) as u64],
        "exp2" => vec![octaves::exp2(of.i32())],
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
        "habit" => {
            let mut habit: Habit = of.field(HABIT)?;
            habit.note(of.u32());
            told_field(&habit, HABIT)
        }
        "habit_weight" => {
            let habit: Habit = of.field(HABIT)?;
            vec![habit.weight(of.field(INTERVAL)?).into()]
        }
        "usual" => {
            let mut usual: Usual = of.field(USUAL)?;
            let moved = usual.see(of.u32());
            let mut answer = vec![moved as u64];
            answer.extend(told_field(&usual, USUAL));
            answer
        }
        "pacer_back_off" => {
            let mut pacer: Pacer = of.field(PACER)?;
            let mut rng = of.rng()?;
            let word = rng.clone().next_u32();
            pacer.back_off(of.instant(), of.span(), &mut rng);
            pacer_told(word, &pacer)
        }
        "pacer_advance" => {
            let mut pacer: Pacer = of.field(PACER)?;
            let mut rng = of.rng()?;
            let word = rng.clone().next_u32();
            let (now, interval) = (of.instant(), of.span());
            pacer.advance(now, interval, of.flag(), &mut rng);
            pacer_told(word, &pacer)
        }
        "pacer_check" => {
            let pacer: Pacer = of.field(PACER)?;
            match pacer.check(of.instant()) {
                Verdict::Go => vec![0, 0],
                Verdict::Wait(until) => vec![1, until.as_nanos()],
                _ => vec![7, 0],
            }
        }
        _ => return None,
    })
}

fn pacer_told(word: u32, pacer: &Pacer) -> Vec<u64> {
    let mut answer = vec![word.into()];
    answer.extend(told_field(pacer, PACER));
    answer
}
