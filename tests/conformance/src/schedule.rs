//! Replays parts without a controller: backoff schedules, the random generator, wrapping counters.

use alloc::vec::Vec;
use core::num::NonZeroU32;

use serde_json::{Value, json};
use tidegate::time::Ticks;
use tidegate::{Rng, Span};

use crate::Played;
use crate::policy;
use crate::value::{at, field, list, number, same, small, span, spelt};

/// Each rung: `[rung, delay]`.
pub(crate) fn backoff(vector: &Value) -> Played {
    let schedule = policy::backoff(field(vector, "backoff")?)?;
    let mut rng = Rng::new(number(field(vector, "seed")?)?);
    let mut step = span(field(vector, "rung")?)?;
    let delays = list(field(vector, "delays")?)?;
    let made: Vec<_> = delays
        .iter()
        .map(|_| {
            step = schedule.next_step(step, &mut rng);
            json!([spelt(step.as_nanos()), spelt(schedule.delay(step, &mut rng).as_nanos())])
        })
        .collect();
    same("the delays", field(vector, "delays")?, &Value::from(made)).map(|()| delays.len())
}

/// Draws: `[least, most, drawn]`, or a word if there is only one number.
pub(crate) fn chance(vector: &Value) -> Played {
    let mut rng = Rng::new(number(field(vector, "seed")?)?);
    let draws = list(field(vector, "draws")?)?;
    for draw in draws {
        let (expected, drawn) = match draw.get(2) {
            Some(expected) => {
                let drawn = rng.between(span(at(draw, 0)?)?, span(at(draw, 1)?)?);
                (expected, spelt(drawn.as_nanos()))
            }
            None => (draw, Value::from(rng.next_u32())),
        };
        same("the draw", expected, &drawn)?;
    }
    Ok(draws.len())
}

/// Readings: `[reading, instant]`; and spans: `[span, ticks]`.
pub(crate) fn ticks(vector: &Value) -> Played {
    let hertz: NonZeroU32 =
        small::<u32>(field(vector, "hertz")?)?.try_into().map_err(|_| "the frequency is zero")?;
    let mut ticks = Ticks::new(hertz);
    let readings = list(field(vector, "readings")?)?;
    for reading in readings {
        let instant = ticks.extend(small(at(reading, 0)?)?);
        same("the instant", at(reading, 1)?, &spelt(instant.as_nanos()))?;
    }
    let spans = list(field(vector, "spans")?)?;
    let ceil = |span: Span| spelt(ticks.to_ticks_ceil(span));
    spans
        .iter()
        .try_for_each(|pair| same("the ticks", at(pair, 1)?, &ceil(span(at(pair, 0)?)?)))
        .map(|()| readings.len() + spans.len())
}
