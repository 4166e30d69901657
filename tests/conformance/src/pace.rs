//! The pace alone, as whoever needs one limiter and no controller uses it.

use alloc::format;

use serde_json::{Value, json};
use tidegate::gate::Pace;
use tidegate::{Reason, Verdict};

use crate::Played;
use crate::policy::quota;
use crate::value::{Read, at, field, given, instant, list, same, small, span, spelt, text};

/// Steps: `[verb, now, arguments …, answer]`.
pub(crate) fn play(vector: &Value) -> Played {
    let quota = given(field(vector, "quota")?, quota)?;
    let mut pace = Pace::new(instant(field(vector, "now")?)?);
    let events = list(field(vector, "events")?)?;
    for (step, event) in events.iter().enumerate() {
        let mut play = || -> Read<()> {
            let now = instant(at(event, 1)?)?;
            match (text(at(event, 0)?)?, quota) {
                ("check", _) => {
                    let answer = verdict(pace.check(now, small(at(event, 2)?)?, quota));
                    same("the answer", at(event, 3)?, &answer)
                }
                ("take", Some(quota)) => {
                    let answer = verdict(pace.take(now, small(at(event, 2)?)?, &quota));
                    same("the answer", at(event, 3)?, &answer)
                }
                ("charge", _) => {
                    pace.charge(now, small(at(event, 2)?)?, quota);
                    Ok(())
                }
                ("correct", _) => {
                    pace.correct(now, small(at(event, 2)?)?, small(at(event, 3)?)?, quota);
                    Ok(())
                }
                ("delay", _) => {
                    pace.delay(now, span(at(event, 2)?)?);
                    Ok(())
                }
                ("drain", _) => {
                    pace.drain(now, quota);
                    Ok(())
                }
                (other, _) => Err(format!("there is no step `{other}`")),
            }
        };
        play().map_err(|error| format!("step {step}, {event}: {error}"))?;
    }
    Ok(events.len())
}

fn verdict(verdict: Verdict) -> Value {
    match verdict {
        Verdict::Go => json!(["go"]),
        Verdict::Wait(until) => json!(["wait", spelt(until.as_nanos())]),
        Verdict::Refuse(Reason::TooBig) => json!(["too-big"]),
        Verdict::Refuse(Reason::Never) => json!(["never"]),
        _ => json!(["another"]),
    }
}
