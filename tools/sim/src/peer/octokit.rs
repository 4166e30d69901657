//! The GitHub client for JavaScript: `octokit` with its plugins for throttling and for retries.
//!
//! Source: octokit/plugin-throttling.js v11.0.3 (1a64804), octokit/plugin-retry.js v8.1.1 (d6e06bd)
//! and the handlers of octokit/octokit.js v5.0.5 (f2d3153), for plain reads. (Writes have their own
//! limiter: one at a time, and a second apart.) At most ten calls of a process run at a time. A throttled
//! call is taken for GitHub's 403: with no calls remaining its retry waits until the reset and one
//! second more; without that it is a secondary limit, and waits for the Retry-After, or 60 s without
//! one. It is retried once, and that retry does not count among the ten. Busy and failed calls are
//! 5xx: three retries after 1, 4 and 9 s, during which the call keeps its place among the ten.
//!
//! **A call whose retries are used up is given up, and the simulator counts it as lost.**
//!
//! Known defects: no jitter anywhere, so clients return together; a throttled call pauses its own call and no other, so
//! the next one is sent at once into the same limit; the remaining count is ignored until it is zero; if it is zero
//! without a reset, the retry is sent at once.

use tidegate::{Instant, Outcome, Span};

use super::backoff::{asleep, sleep};
use super::threads::Threads;
use crate::throttle::{Answer, Call, Response, Throttle};

const MAX_CONCURRENT: usize = 10;
const RETRIES: u32 = 3;
const AFTER_RESET: Span = Span::from_secs(1);
const FALLBACK: Span = Span::from_secs(60);

/// The throttle.
#[derive(Default)]
pub(super) struct Octokit {
    calls: Threads<Progress>,
    /// Calls in flight among the ten.
    in_flight: usize,
    /// When sleeping calls among the ten wake.
    sleeping: Vec<Instant>,
}

/// The state of a call.
#[derive(Clone, Copy, Default)]
struct Progress {
    /// Whether it was throttled, so that its retry does not count among the ten.
    throttled: bool,
    /// How many 5xx responses it got since it began or was throttled.
    errors: u32,
}

impl Throttle for Octokit {
    fn poll(&mut self, now: Instant, call: &Call) -> Answer {
        if let Some(wait) = asleep(now, call) {
            return wait;
        }
        let progress = self.calls.of(call.thread);
        if call.attempt == 0 {
            *progress = Progress::default();
        }
        if progress.throttled {
            return Answer::Admit(0);
        }
        if call.attempt > 0 {
            let place = self.sleeping.iter().position(|wake| *wake == call.not_before);
            place.map(|place| self.sleeping.swap_remove(place));
        } else {
            // A thread that should have woken but did not has left the world.
            self.sleeping.retain(|wake| *wake >= now);
            if self.in_flight + self.sleeping.len() >= MAX_CONCURRENT {
                return Answer::Full;
            }
        }
        self.in_flight += 1;
        Answer::Admit(1)
    }

    fn settle(&mut self, _: Instant, permit: u64, _: &Response) {
        self.in_flight -= permit as usize;
    }

    fn retry(&mut self, now: Instant, call: &mut Call, response: &Response) -> bool {
        let progress = self.calls.of(call.thread);
        match response.outcome {
            Outcome::Ok | Outcome::Abandoned | Outcome::Exhausted => false,
            Outcome::Throttled if progress.throttled => false,
            Outcome::Throttled => {
                *progress = Progress { throttled: true, errors: 0 };
                sleep(now, call, pause(response))
            }
            Outcome::Busy | Outcome::Failed if progress.errors == RETRIES => false,
            Outcome::Busy | Outcome::Failed => {
                progress.errors += 1;
                let delay = Span::from_secs(u64::from(progress.errors.pow(2)));
                if !progress.throttled {
                    self.sleeping.push(now.saturating_add(delay));
                }
                sleep(now, call, delay)
            }
        }
    }

    /// The time just after the next sleeping call among the ten has continued.
    fn next_at(&self, _: Instant) -> Option<Instant> {
        let wake = self.sleeping.iter().min()?;
        Some(wake.saturating_add(Span::from_nanos(1)))
    }
}

/// How long a throttled call sleeps.
fn pause(response: &Response) -> Span {
    let hint = &response.hint;
    if hint.remaining == Some(0) {
        return hint.reset.map_or(Span::ZERO, |reset| reset.saturating_add(AFTER_RESET));
    }
    // The source treats a Retry-After of 0 as missing.
    hint.retry_after.filter(|hint| *hint > Span::ZERO).unwrap_or(FALLBACK)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::tests::{accepted, at, back, call, throttled};
    use tidegate::Hint;

    fn failed() -> Response {
        Response { outcome: Outcome::Failed, ..throttled(0) }
    }

    fn thread(thread: u32) -> Call {
        Call { thread, ..call() }
    }

    #[test]
    fn a_throttled_call_waits_for_the_reset_the_retry_after_or_a_minute() {
        let spent = Hint::NONE.and_remaining(0);
        for (hint, seconds) in [
            (spent.and_reset(Span::from_secs(30)), 31),
            // As in the source's test of a past or missing reset.
            (spent, 0),
            (Hint::retry_after(Span::from_secs(7)), 7),
            (Hint::retry_after(Span::from_secs(7)).and_remaining(3), 7),
            (Hint::retry_after(Span::ZERO), 60),
            (Hint::NONE, 60),
        ] {
            let pause = pause(&Response { hint, ..throttled(0) });
            assert_eq!(pause, Span::from_secs(seconds), "{hint:?}");
        }
    }

    #[test]
    fn a_throttled_call_is_retried_once_and_then_given_up() {
        let mut octokit = Octokit::default();
        let mut call = back(1);
        assert!(octokit.retry(at(0.0), &mut call, &throttled(0)));
        assert_eq!(call.not_before, at(60.0));
        assert!(!octokit.retry(at(60.0), &mut back(2), &throttled(0)));
    }

    #[test]
    fn server_errors_are_retried_after_one_four_and_nine_seconds() {
        let mut octokit = Octokit::default();
        let retry = |attempt| {
            let mut call = back(attempt);
            octokit.retry(at(0.0), &mut call, &failed()).then_some(call.not_before)
        };
        let sleeps: Vec<_> = (1..=4).map(retry).collect();
        assert_eq!(sleeps, [Some(at(1.0)), Some(at(4.0)), Some(at(9.0)), None]);
    }

    #[test]
    fn ten_calls_run_at_a_time_and_a_call_between_errors_keeps_its_place() {
        let mut octokit = Octokit::default();
        for number in 0..10 {
            assert_eq!(octokit.poll(at(0.0), &thread(number)), Answer::Admit(1));
        }
        assert_eq!(octokit.poll(at(0.0), &thread(10)), Answer::Full);
        octokit.settle(at(0.1), 1, &failed());
        let mut sleeper = Call { attempt: 1, ..thread(3) };
        assert!(octokit.retry(at(0.1), &mut sleeper, &failed()));
        assert_eq!(octokit.poll(at(0.1), &thread(10)), Answer::Full);
        assert!(octokit.next_at(at(0.1)) > Some(sleeper.not_before));
        assert_eq!(octokit.poll(sleeper.not_before, &sleeper), Answer::Admit(1));
        octokit.settle(at(2.0), 1, &accepted(0));
        assert_eq!(octokit.poll(at(2.0), &thread(10)), Answer::Admit(1));
    }

    #[test]
    fn the_retry_of_a_throttled_call_does_not_count_among_the_ten() {
        let mut octokit = Octokit::default();
        assert_eq!(octokit.poll(at(0.0), &thread(0)), Answer::Admit(1));
        octokit.settle(at(0.1), 1, &throttled(0));
        let mut again = Call { attempt: 1, ..thread(0) };
        assert!(octokit.retry(at(0.1), &mut again, &throttled(0)));
        for number in 1..11 {
            assert_eq!(octokit.poll(at(50.0), &thread(number)), Answer::Admit(1));
        }
        assert_eq!(octokit.poll(at(60.2), &again), Answer::Admit(0));
        octokit.settle(at(60.3), 0, &accepted(0));
        assert_eq!(octokit.poll(at(60.3), &thread(11)), Answer::Full);
    }
}
