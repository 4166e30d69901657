//! What can happen: a client polls, the clock goes on or back, an answer comes, the device sleeps.

use tidegate::{Hint, Outcome, Reply, Span};

/// One event.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Move {
    /// A plain call asks.
    Poll,
    /// A call that costs two asks.
    PollTwo,
    /// A call asks that must be sent now or never.
    PollHasty,
    /// The next attempt of a call that failed asks.
    PollRetry,
    /// The clock goes on by one of the policy's spans.
    Pass(usize),
    /// It goes on to when the controller says that something may be sent.
    PassToNext,
    /// It steps back by the shortest of the policy's spans.
    StepBack,
    /// The call that has been out longest comes back, with one of the answers.
    SettleFirst(usize),
    /// The one that was sent last does.
    SettleLast(usize),
    /// It is written down, and goes on from its record, after one of the policy's spans or at once.
    Sleep(usize),
}

/// All that may come back, from the plain to the hostile.
pub fn replies(short: Span) -> [Reply; 11] {
    let day = Span::from_secs(86_400);
    [
        Outcome::Ok.into(),
        Outcome::Throttled.into(),
        Outcome::Busy.into(),
        Outcome::Failed.into(),
        Outcome::Abandoned.into(),
        Outcome::Exhausted.with(Hint::retry_after(short)),
        Outcome::Throttled.with(Hint::retry_after(short)),
        Outcome::Throttled.with(Hint::retry_after(Span::MAX)),
        Outcome::Ok.with(Hint::remaining(1).and_limit(4).and_reset(short)),
        Outcome::Ok.with(Hint::remaining(1)),
        Outcome::Throttled.with(Hint::quota(4, day).and_remaining(0).and_reset(Span::MAX)),
    ]
}

/// Everything that may happen in any state.
pub fn all() -> Vec<Move> {
    use Move::{
        Pass, PassToNext, Poll, PollHasty, PollRetry, PollTwo, SettleFirst, SettleLast, Sleep,
        StepBack,
    };
    let mut moves = vec![Poll, PollTwo, PollHasty, PollRetry, Pass(0), Pass(1), PassToNext];
    moves.extend((0..replies(Span::ZERO).len()).map(SettleFirst));
    // In which order they come back matters to what they left under; one good and one bad will do.
    moves.extend([SettleLast(0), SettleLast(1), StepBack, Sleep(0), Sleep(1)]);
    moves
}
