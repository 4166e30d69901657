//! `adaptive` as a whole: its state, what happens to it, and the state after that.

use crate::law::{Adaptive, Law};
use crate::numbers::Kind::{self, At, Byte, Four, Nothing, Two};
use crate::numbers::{Numbers, told};
use crate::{Hint, Instant};

/// The pacer, the event, the epoch, and which tier it is.
const BEFORE: &[Kind] =
    &[Four, Four, At, At, At, At, Byte, Byte, Byte, Two, Two, Four, Four, Two, Two, Byte];
/// The usual call, the round trip, the quota.
const AFTER: &[Kind] = &[Four, Byte, Four, Two];

/// What each tier knows, all in as many bytes.
fn tier(tag: u64) -> Vec<Kind> {
    let (known, bytes): (&[Kind], usize) = match tag {
        0 => (&[Two], 2),
        1 => (&[Four, Byte], 5),
        2 => (&[Four, Byte, Four], 9),
        _ => (&[At, Four, Four, Byte, Four, Four, Four], 29),
    };
    known.iter().copied().chain((bytes..29).map(|_| Nothing)).collect()
}

fn kinds(tag: u64) -> Vec<Kind> {
    [BEFORE, &tier(tag), AFTER].concat()
}

/// What the step answers; `None` where it is none of these: the state after each event, after the
/// number of its tier.
pub fn take(step: &str, of: &mut Numbers) -> Option<Vec<u64>> {
    if !step.starts_with("adaptive_") {
        return None;
    }
    let law = Adaptive::DEFAULT;
    let tag = of.u64();
    let mut state = of.state(&law, &kinds(tag))?;
    let mut rng = of.rng()?;
    let mut answer = Vec::new();
    while !of.is_empty() {
        let mut pace = crate::gate::Pace::new(Instant::ZERO);
        match of.u64() {
            0 => {
                let hint = hint(of);
                let mut sample = of.sample(&hint);
                sample.cost = of.u32();
                law.observe(&mut state, &mut pace, &sample, &mut rng);
            }
            1 => law.released(&mut state, &mut pace, of.instant(), of.u32(), &mut rng),
            _ => law.corrected(&mut state, of.instant(), of.u32(), of.u32()),
        }
        let tag = told(&law, &state, BEFORE).last().copied()?;
        answer.push(tag);
        answer.extend(told(&law, &state, &kinds(tag)));
    }
    Some(answer)
}

/// Each of its numbers, after whether it is told: the wait, what is left, the reset, the limit, the
/// period.
fn hint(of: &mut Numbers) -> Hint {
    let mut hint = Hint::NONE;
    hint.retry_after = of.flag().then_some(of.span());
    hint.remaining = of.flag().then_some(of.u64());
    hint.reset = of.flag().then_some(of.span());
    hint.limit = of.flag().then_some(of.u64());
    hint.period = of.flag().then_some(of.span());
    hint
}
