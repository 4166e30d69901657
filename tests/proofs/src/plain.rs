//! Steps on plain numbers: ratios, products, quotas, draws, clocks, schedules.

use crate::backoff::{Backoff, Growth, Jitter};
use crate::fixed::{exp_neg_q32, mul_div_floor};
use crate::numbers::Numbers;
use crate::rate::law_interval;
use crate::time::Ticks;
use crate::{Quota, Ratio, Rng, Span};

/// The result of the step. `None` if it is not one of these.
pub fn take(step: &str, of: &mut Numbers) -> Option<Vec<u64>> {
    Some(match step {
        "ratio" => {
            let (ratio, value) = (of.ratio(), of.u64());
            vec![ratio.floor_of(value), ratio.ceil_of(value)]
        }
        "product" => vec![mul_div_floor(of.u64(), of.u64(), of.u64())],
        "exponential" => vec![exp_neg_q32(of.u64(), of.u64())],
        "interval" => vec![of.quota()?.interval().as_nanos()],
        "law_rate" => vec![of.quota()?.law_rate()],
        "law_interval" => vec![law_interval(of.u64()).as_nanos()],
        "seed" | "draws" => {
            let mut rng = if step == "seed" { Rng::new(of.u64()) } else { of.rng()? };
            vec![rng.next_u32().into(), rng.next_u32().into(), rng.next_u32().into()]
        }
        "between" => {
            let mut rng = of.rng()?;
            let word = rng.clone().next_u32();
            let drawn = rng.between(of.span(), of.span());
            vec![word.into(), drawn.as_nanos()]
        }
        "ticks" => vec![Ticks::new(of.some32()).to_ticks_ceil(of.span())],
        "extend" => {
            let mut ticks = Ticks::new(of.some32());
            let mut instants = Vec::new();
            while !of.is_empty() {
                instants.push(ticks.extend(of.u32()).as_nanos());
            }
            instants
        }
        "climb" | "delay" => {
            let schedule = schedule(of)?;
            let mut rng = of.rng()?;
            let word = rng.clone().next_u32();
            let take = if step == "climb" { Backoff::next_step } else { Backoff::delay };
            vec![word.into(), take(&schedule, of.span(), &mut rng).as_nanos()]
        }
        _ => return None,
    })
}

/// `growth factor jitter part base most`.
fn schedule(of: &mut Numbers) -> Option<Backoff> {
    let (growth, factor) = (of.u8(), of.ratio());
    let (jitter, part): (u8, Ratio) = (of.u8(), of.ratio());
    let growth = match growth {
        0 => Growth::Constant,
        1 => Growth::Linear,
        2 => Growth::Exponential(factor),
        _ => Growth::Decorrelated,
    };
    let jitter = match jitter {
        0 => Jitter::None,
        1 => Jitter::Full,
        2 => Jitter::Equal,
        _ => Jitter::Spread(part),
    };
    let (base, most): (Span, Span) = (of.span(), of.span());
    Backoff::new(growth, jitter, base, most).ok()
}
