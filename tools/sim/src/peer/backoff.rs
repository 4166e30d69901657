//! Peers that only decide how long a call sleeps after a failure.

use tidegate::{Instant, Span};

use crate::chance::Chance;
use crate::throttle::{Answer, Call, Response, Throttle};

/// The delay between a failure and the next attempt.
pub(super) trait Schedule {
    /// A first attempt is sent.
    fn begin(&mut self, _now: Instant) {}

    /// The delay after `response`. `None` gives up the call.
    fn delay(
        &mut self,
        now: Instant,
        call: &Call,
        response: &Response,
        chance: &mut Chance,
    ) -> Option<Span>;
}

/// A peer that only delays retries: first attempts are sent at once, and calls are independent.
pub(super) struct Backoff<S> {
    schedule: S,
    chance: Chance,
}

impl<S> Backoff<S> {
    pub fn new(schedule: S, chance: Chance) -> Self {
        Self { schedule, chance }
    }
}

impl<S: Schedule> Throttle for Backoff<S> {
    fn poll(&mut self, now: Instant, call: &Call) -> Answer {
        if let Some(wait) = asleep(now, call) {
            return wait;
        }
        if call.attempt == 0 {
            self.schedule.begin(now);
        }
        Answer::Admit(0)
    }

    fn settle(&mut self, _: Instant, _: u64, _: &Response) {}

    fn retry(&mut self, now: Instant, call: &mut Call, response: &Response) -> bool {
        if !response.outcome.is_retryable() {
            return false;
        }
        let delay = self.schedule.delay(now, call, response, &mut self.chance);
        delay.is_some_and(|delay| sleep(now, call, delay))
    }
}

/// How many attempts of a failed call had failed before.
pub(super) fn earlier_failures(call: &Call) -> u32 {
    call.attempt.saturating_sub(1)
}

/// The answer for a call that still sleeps.
pub(super) fn asleep(now: Instant, call: &Call) -> Option<Answer> {
    (call.not_before > now).then_some(Answer::Wait(call.not_before))
}

/// Delays the next attempt by `delay`. Returns true, because there is a next attempt.
pub(super) fn sleep(now: Instant, call: &mut Call, delay: Span) -> bool {
    call.not_before = now + delay;
    true
}

/// The seconds since the start of the world.
pub(super) fn in_seconds(now: Instant) -> f64 {
    now.as_nanos() as f64 / 1e9
}

/// A span of `seconds`, rounded down to nanoseconds. Negative values become zero.
pub(super) fn seconds(seconds: f64) -> Span {
    Span::from_nanos((seconds * 1e9) as u64)
}
