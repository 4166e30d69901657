//! Steps of `adaptive`: its parts through files that only its folder can access, and the rest
//! through changes of a state.

#[path = "../../../core/src/law/adaptive/cost.rs"]
mod cost;
#[path = "../../../core/src/law/adaptive/log.rs"]
mod log;
#[path = "../../../core/src/law/adaptive/open.rs"]
mod open;
#[path = "../../../core/src/law/adaptive/probe.rs"]
mod probe;

use crate::gate::Pacing;
use crate::law::{Adaptive, AdaptiveState, Law};
use crate::mean_cost::MeanCost;
use crate::numbers::Kind::{self, At, Byte, Four, Two};
use crate::numbers::{Numbers, hinted, hinted_field};
use crate::{Hint, Instant, Outcome};

use cost::Usual;
use log::Log;
use open::Open;
use probe::Probe;

const OPEN: &[Kind] = &[Two, Two, Two, Byte, Byte, Two, Byte, Byte, Two, Two, Two];
const LOG: &[Kind] = &[Four];
const PROBE: &[Kind] = &[Byte, Byte, Byte, Byte, Four, Two, Byte, Byte, Four];
const USUAL: &[Kind] = &[Byte];
/// The layout of the state: paced calls and the noise among them, the meter, interval end and
/// release, the interval, the event, the misses and their evidence, the usual call, calls in flight, and hints.
#[rustfmt::skip]
const PACED: &[Kind] = &[
    Byte, Four, Byte, Byte, Byte, Byte, Four, Two, Byte, Byte, Four,
    Two, Two, Two, Two, Byte, Byte, Byte, Byte, Byte, Byte, Byte,
    At, Four, Four, At, Four, Two,
    At, At, Four,
    At, Four, Two, Byte, Byte, Byte, Byte, Byte, Byte, At, At,
    Four, Byte, Byte, Byte, Byte,
    Four, Four, Four, Four, Two, Byte, Byte,
];
const LAW: Adaptive = Adaptive::DEFAULT;

/// The result of the step. `None` if it is not one of these.
pub fn take(step: &str, of: &mut Numbers) -> Option<Vec<u64>> {
    number(step, of).or_else(|| part(step, of)).or_else(|| event(step, of))
}

fn number(step: &str, of: &mut Numbers) -> Option<Vec<u64>> {
    Some(match step {
        "log" => hinted_field(&Log::of(of.u64()), LOG),
        "span" => vec![of.field::<Log>(LOG)?.span().as_nanos()],
        "coarse" => vec![log::coarse(of.u32()) as u64],
        "power" => vec![log::power(of.i32()).into()],
        "growth" => hinted_field(&Log::of_growth(of.i32()), LOG),
        "cut" => hinted_field(&Log::of_cut(of.u32()), LOG),
        _ => return None,
    })
}

fn part(step: &str, of: &mut Numbers) -> Option<Vec<u64>> {
    let mut answer;
    match step {
        "probe_cut" | "probe_grow" => {
            let mut probe: Probe = of.field(PROBE)?;
            let moved = match step {
                "probe_cut" => probe.cut(of.field(LOG)?, of.i32(), of.field(LOG)?),
                _ => probe.grow(of.i32(), of.i32()),
            };
            answer = hinted_field(&moved, LOG);
            answer.extend(hinted_field(&probe, PROBE));
        }
        "probe_deepen" => {
            let probe: Probe = of.field(PROBE)?;
            answer = hinted_field(&probe.deepen(of.u8()), LOG);
        }
        "usual" => {
            let mut mean = MeanCost(of.u32());
            let mut usual: Usual = of.field(USUAL)?;
            answer = vec![(usual.see(&mut mean, of.u32()) as u32).into(), mean.0.into()];
            answer.extend(hinted_field(&usual, USUAL));
        }
        "open" => {
            let open: Open = of.field(OPEN)?;
            let since = of.span();
            let limit = open.limit(since).map_or(0, |limit| limit.get());
            let after = open::doubles_after(since).unwrap_or_default();
            answer = vec![limit.into(), after.as_nanos()];
        }
        "reject" => {
            let mut open: Open = of.field(OPEN)?;
            answer = vec![open.reject(of.span()).into()];
            answer.extend(hinted_field(&open, OPEN));
        }
        _ => return None,
    }
    Some(answer)
}

/// Changes of a state: interval end and releases afterwards.
fn event(step: &str, of: &mut Numbers) -> Option<Vec<u64>> {
    if step == "cool_down" {
        return cool_down(of);
    }
    let mut state = of.state(&LAW, PACED)?;
    if step == "in_force" {
        return Some(vec![LAW.interval(&state, of.instant(), None)?.as_nanos()]);
    }
    let mut rng = of.rng()?;
    let word = u64::from(rng.clone().next_u32());
    let (now, mut pacing) = (of.instant(), Pacing::new(Instant::ZERO));
    let draws = match step {
        "advance" => {
            LAW.sent(&mut state, &crate::law::Sent::new(now), &mut rng);
            true
        }
        "back_off" => {
            let mut sample = crate::law::Sample::new(now, now, Outcome::Throttled);
            sample.ceiling = of.span();
            LAW.observe(&mut state, &mut pacing, &sample, &mut rng);
            true
        }
        "shift" => {
            let later = of.flag();
            LAW.corrected(&mut state, now, (!later).into(), Some(later.into()));
            false
        }
        _ => return None,
    };
    let after = hinted(&LAW, &state, PACED);
    Some(draws.then_some(word).into_iter().chain([28, 29, 40].map(|index| after[index])).collect())
}

/// A wait that the server requests before there is a rate.
fn cool_down(of: &mut Numbers) -> Option<Vec<u64>> {
    let mut rng = of.rng()?;
    let word = u64::from(rng.clone().next_u32());
    let now = of.instant();
    let hint = Hint::retry_after(of.span());
    let mut sample = crate::law::Sample::new(now, now, Outcome::Throttled);
    (sample.hint, sample.ceiling) = (&hint, of.span());
    let mut state: AdaptiveState = LAW.start(now);
    LAW.observe(&mut state, &mut Pacing::new(Instant::ZERO), &sample, &mut rng);
    let until = LAW.pace(&state, now, 0, false).not_before.max(now);
    Some(vec![word, until.as_nanos()])
}
