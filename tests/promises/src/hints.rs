//! Any hints of a server, honest or not.

use tidegate::{Hint, Outcome, Reply};

use crate::input::Input;

pub fn outcome(byte: u8) -> Outcome {
    match byte % 16 {
        0 | 1 | 8 | 9 => Outcome::Ok,
        2..=4 | 10..=12 => Outcome::Throttled,
        5 | 13 => Outcome::Busy,
        6 | 14 => Outcome::Failed,
        7 => Outcome::Abandoned,
        _ => Outcome::Exhausted,
    }
}

/// The outcome with any hints, for the call or for each limit, and optionally with its actual cost.
pub fn reply<const LIMITS: usize>(outcome: Outcome, input: &mut Input<'_>) -> Reply<LIMITS> {
    let flags = input.u8();
    let mut reply = if flags & 1 == 0 {
        outcome.with(hint(input))
    } else {
        Reply::about(outcome, [(); LIMITS].map(|()| hint(input)))
    };
    if flags & 2 != 0 {
        reply = reply.using([(); LIMITS].map(|()| input.small()));
    }
    // A server may report the cost of only some limits.
    if let (true, Some(first)) = (flags & 4 != 0, reply.used.first_mut()) {
        *first = None;
    }
    reply
}

fn hint(input: &mut Input<'_>) -> Hint {
    let told = input.u8();
    let tells = |bit: u8| told & 1 << bit != 0;
    let mut hint = Hint::NONE;
    hint.remaining = tells(0).then(|| input.count());
    hint.reset = tells(1).then(|| input.span());
    hint.retry_after = tells(2).then(|| input.span());
    hint.limit = tells(3).then(|| input.count());
    hint.period = tells(4).then(|| input.span());
    hint.no_retry = tells(5);
    hint.may_repeat = tells(7);
    hint.concurrency = tells(6);
    hint
}
