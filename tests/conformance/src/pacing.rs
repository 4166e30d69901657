//! Replays pacing alone, as used without a controller.

use alloc::format;

use serde_json::{Value, json};
use tidegate::gate::Pacing;
use tidegate::{Reason, Verdict};

use crate::policy::quota;
use crate::value::{at, field, given, instant, same, small, span, spelt, text};
use crate::{Played, Vector};

/// Steps: `[verb, now, arguments …, answer]`.
pub(crate) fn play(vector: &Vector<'_>) -> Played {
    let quota = given(field(&vector.fields, "quota")?, quota)?;
    let mut pacing = Pacing::new(instant(field(&vector.fields, "now")?)?);
    vector.each(|event| {
        let now = instant(at(event, 1)?)?;
        let cost = at(event, 2).and_then(small);
        match (text(at(event, 0)?)?, quota) {
            ("check", _) => {
                same("the answer", at(event, 3)?, &verdict(pacing.check(now, cost?, quota)))?;
            }
            ("take", Some(quota)) => {
                same("the answer", at(event, 3)?, &verdict(pacing.take(now, cost?, &quota)))?;
            }
            ("charge", _) => pacing.charge(now, cost?, quota),
            ("correct", _) => pacing.correct(now, cost?, small(at(event, 3)?)?, quota),
            ("delay", _) => pacing.delay(now, span(at(event, 2)?)?),
            (other, _) => return Err(format!("unknown step `{other}`")),
        }
        Ok(())
    })
}

fn verdict(verdict: Verdict) -> Value {
    match verdict {
        Verdict::Admit => json!(["admit"]),
        Verdict::Wait(until) => json!(["wait", spelt(until.as_nanos())]),
        Verdict::Reject(Reason::TooBig) => json!(["too-big"]),
        Verdict::Reject(Reason::Never) => json!(["never"]),
        _ => json!(["another"]),
    }
}
