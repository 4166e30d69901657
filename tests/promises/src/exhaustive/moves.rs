//! The possible events: polls, clock changes, responses, sleep.

use tidegate::{Hint, Outcome, Reply, Span};

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Move {
    /// A plain call is polled.
    Poll,
    /// A call with a cost of two is polled.
    PollTwo,
    /// A call is polled that must be sent immediately or never.
    PollHasty,
    /// The next attempt of a failed call is polled.
    PollRetry,
    /// The clock advances by one of the policy's spans.
    Pass(usize),
    /// The clock advances to the controller's `next_at`.
    PassToNext,
    /// The clock steps back by the shortest of the policy's spans.
    StepBack,
    /// The oldest call in flight completes with one of the replies.
    SettleFirst(usize),
    /// The latest call in flight completes with one of the replies.
    SettleLast(usize),
    /// The controller is saved and restored, after one of the policy's spans or immediately.
    Sleep(usize),
}

/// All replies, from plain to hostile.
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

/// Every event that can happen in any state.
pub fn all() -> Vec<Move> {
    use Move::{
        Pass, PassToNext, Poll, PollHasty, PollRetry, PollTwo, SettleFirst, SettleLast, Sleep,
        StepBack,
    };
    let mut moves = vec![Poll, PollTwo, PollHasty, PollRetry, Pass(0), Pass(1), PassToNext];
    moves.extend((0..replies(Span::ZERO).len()).map(SettleFirst));
    // The order of completion only matters for the state in which a call was sent, so one success
    // and one failure suffice.
    moves.extend([SettleLast(0), SettleLast(1), StepBack, Sleep(0), Sleep(1)]);
    moves
}
