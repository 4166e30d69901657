//! Peers with a token bucket whose rate a simple rule sets.
//!
//! | name | source | rule |
//! |---|---|---|
//! | `nall-aimd` | the documentation of .NET's `Nall.RateLimiting.Adaptive` | 2/s more for the whole budget if 10 s have passed since the last change and calls waited; ×0.7 when throttled, at most once in 5 s |
//! | `nall-cubic` | the same | ×0.7 of the lower one of the rate and the measured rate, at most once in 5 s, and the curve of CUBIC from there |
//! | `request-rate-limiter` | the Rust crate, 0.2 | 10/s more with each success, ×0.8 with each throttled call, in whole calls a second |
//! | `lance-aimd` | `lance-core` and `lance-io` 6.0 | each second 300/s more, or ×0.5 if one of its calls was throttled; a call is given up after 3 retries |
//!
//! The budget of `nall-…` is shared evenly among the processes, as it advises. `nall-…` obeys
//! `Retry-After`. Its documentation does not say how many tokens its bucket holds; here it is a second's
//! worth. Neither it nor `request-rate-limiter` retries: here a call is repeated after U(0, 100 ms).

use std::rc::Rc;

use tidegate::{Instant, Span};

use super::aws_cubic::{KEPT, cubic};
use super::{asleep, in_seconds, seconds, sleep};
use crate::chance::Chance;
use crate::throttle::{Answer, Call, Outlook, Response, Throttle};

/// Sets the rate. Times are in seconds, rates in calls a second.
pub(super) trait Rule {
    /// Whether no call is sent until a `Retry-After` is over.
    const PAUSES: bool = false;
    /// Bounds of the delay before the next attempt of a call.
    const DELAY: [f64; 2] = [0.0, 0.1];
    const TRIES: u32 = u32::MAX;
    /// Whether the bucket is empty at first.
    const STARTS_EMPTY: bool = false;
    /// What a call needs, which may be a little less than a token.
    const TOKEN: f64 = 1.0 - 1e-9;

    /// Whether calls need no tokens yet.
    fn is_free(&mut self, _now: f64) -> bool {
        false
    }

    /// The rate after a response. `waited` is whether its call had to wait for a token.
    fn rate(&mut self, now: f64, rate: f64, throttled: bool, waited: bool) -> f64;

    fn burst(&self, rate: f64) -> f64;

    fn retry(
        &mut self,
        now: Instant,
        call: &mut Call,
        response: &Response,
        chance: &mut Chance,
    ) -> bool {
        let [least, most] = Self::DELAY;
        let again = response.outcome.is_retryable() && call.attempt < Self::TRIES;
        again && sleep(now, call, seconds(chance.within(least, most)))
    }
}

pub(super) struct Paced<R> {
    rule: R,
    pub(super) rate: f64,
    tokens: f64,
    /// Up to when the tokens are counted, from the first call on.
    filled: Option<f64>,
    pause: Instant,
    chance: Chance,
}

impl<R: Rule> Paced<R> {
    pub fn new(rule: R, rate: f64, chance: Chance) -> Self {
        let tokens = if R::STARTS_EMPTY { 0.0 } else { rule.burst(rate) };
        Self { rule, rate, tokens, filled: None, pause: Instant::ZERO, chance }
    }

    fn fill(&mut self, now: Instant) {
        let now = in_seconds(now);
        self.tokens += (now - self.filled.replace(now).unwrap_or(now)) * self.rate;
        self.tokens = self.tokens.min(self.rule.burst(self.rate));
    }
}

impl<R: Rule> Throttle for Paced<R> {
    fn poll(&mut self, now: Instant, call: &Call) -> Answer {
        if let Some(wait) = asleep(now, call) {
            return wait;
        }
        self.filled.get_or_insert(in_seconds(now));
        if self.rule.is_free(in_seconds(now)) {
            return Answer::Admit(0);
        }
        self.fill(now);
        if self.pause > now || self.tokens < R::TOKEN {
            return Answer::Full;
        }
        self.tokens -= 1.0;
        Answer::Admit(0)
    }

    fn settle(&mut self, now: Instant, _: u64, response: &Response) {
        self.fill(now);
        let (throttled, waited) = (response.outcome.is_pushback(), response.waited > Span::ZERO);
        self.rate = self.rule.rate(in_seconds(now), self.rate, throttled, waited);
        if let Some(wait) = response.hint.retry_after.filter(|_| R::PAUSES) {
            self.pause = (now + wait).max(self.pause);
        }
    }

    fn retry(&mut self, now: Instant, call: &mut Call, response: &Response) -> bool {
        self.rule.retry(now, call, response, &mut self.chance)
    }

    fn next_at(&self, now: Instant) -> Option<Instant> {
        let token = seconds((1.0 - self.tokens) / self.rate).max(Span::from_nanos(1));
        Some((now + token).max(self.pause))
    }
}

const COOLDOWN: f64 = 5.0;
/// Its rates for the whole budget: at the start, and at least.
const FIRST: f64 = 10.0;
const FLOOR: f64 = 1.0;

/// `nall-aimd` and `nall-cubic`.
pub(super) struct Nall {
    cubic: bool,
    share: f64,
    /// When the rate was changed, and when it was cut.
    changed: f64,
    cut: f64,
    plateau: f64,
    /// The second that is counted, its responses, and those of the one before.
    second: f64,
    responses: [f64; 2],
}

impl Nall {
    pub fn new(cubic: bool, outlook: &Rc<Outlook>) -> (Self, f64) {
        let own = outlook.members.iter().filter(|member| member.stranger.is_none()).count();
        let share = 1.0 / own.max(1) as f64;
        let (cut, plateau) = (-COOLDOWN, FIRST * share);
        let (second, responses) = (0.0, [0.0; 2]);
        (Self { cubic, share, changed: 0.0, cut, plateau, second, responses }, plateau)
    }

    fn measure(&mut self, now: f64) -> f64 {
        let second = libm::floor(now);
        if second > self.second {
            let before = if second == self.second + 1.0 { self.responses[0] } else { 0.0 };
            (self.second, self.responses) = (second, [0.0, before]);
        }
        self.responses[0] += 1.0;
        self.responses[0].max(self.responses[1])
    }
}

impl Rule for Nall {
    const PAUSES: bool = true;

    fn rate(&mut self, now: f64, rate: f64, throttled: bool, waited: bool) -> f64 {
        let measured = self.measure(now);
        if throttled {
            if now - self.cut < COOLDOWN {
                return rate;
            }
            (self.cut, self.changed) = (now, now);
            self.plateau = if self.cubic { rate.min(measured) } else { rate };
            return (KEPT * self.plateau).max(FLOOR * self.share);
        }
        if self.cubic {
            return cubic(0.4 * self.share, self.plateau, now - self.cut.max(0.0)).max(rate);
        }
        let grows = waited && now - self.changed >= 10.0;
        self.changed = if grows { now } else { self.changed };
        if grows { rate + 2.0 * self.share } else { rate }
    }

    fn burst(&self, rate: f64) -> f64 {
        rate.max(1.0)
    }
}

/// `request-rate-limiter`, which starts at 10/s.
pub(super) struct PerCall;

impl Rule for PerCall {
    fn rate(&mut self, _: f64, rate: f64, throttled: bool, _: bool) -> f64 {
        let next = if throttled { libm::floor(rate * 0.8) } else { rate + 10.0 };
        next.clamp(1.0, 10_000.0)
    }

    fn burst(&self, _: f64) -> f64 {
        10.0
    }
}

/// `lance-aimd`, which starts at 2000/s.
#[derive(Default)]
pub(super) struct Lance {
    since: f64,
    calls: u32,
    throttled: bool,
}

impl Rule for Lance {
    const DELAY: [f64; 2] = [0.1, 0.3];
    const TRIES: u32 = 4;

    fn rate(&mut self, now: f64, rate: f64, throttled: bool, _: bool) -> f64 {
        let mut next = rate;
        if now - self.since >= 1.0 {
            if self.calls > 0 {
                next = if self.throttled { rate / 2.0 } else { rate + 300.0 };
            }
            *self = Self { since: now, ..Self::default() };
        }
        self.calls += 1;
        self.throttled |= throttled;
        next.clamp(1.0, 5_000.0)
    }

    fn burst(&self, _: f64) -> f64 {
        100.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::tests::outlook;

    /// The rates after responses at these seconds. Each call waited; `true` is throttled.
    fn rates(mut rule: impl Rule, first: f64, responses: &[(f64, bool)]) -> Vec<f64> {
        let mut rate = first;
        let rates = responses.iter().map(|&(now, throttled)| {
            rate = rule.rate(now, rate, throttled, true);
            (rate * 1e3).round() / 1e3
        });
        rates.collect()
    }

    #[test]
    fn each_rule_follows_its_description() {
        let known = Rc::new(outlook());
        let (aimd, first) = Nall::new(false, &known);
        assert_eq!(first, 10.0);
        let responses = [(9.0, false), (10.0, false), (19.0, true), (23.9, true), (24.0, true)];
        assert_eq!(rates(aimd, first, &responses), [10.0, 12.0, 8.4, 8.4, 5.88]);
        // One call in its second was measured: W is 1, and its curve is back there after .75^(1/3) s.
        let (cubic, first) = Nall::new(true, &known);
        let back = 20.0 + libm::cbrt(0.75);
        let cut = rates(cubic, first, &[(20.0, true), (back, false), (back + 5.0, false)]);
        assert_eq!(cut, [1.0, 1.0, 51.0]);
        let each = [(0.1, false), (0.2, true), (0.3, true), (0.4, false)];
        assert_eq!(rates(PerCall, 10.0, &each), [20.0, 16.0, 12.0, 22.0]);
        // A second counts when the next response arrives after it.
        let windows = [(0.5, false), (1.5, true), (2.4, false), (2.5, false), (3.5, false)];
        let expected = [2_000.0, 2_300.0, 2_300.0, 1_150.0, 1_450.0];
        assert_eq!(rates(Lance::default(), 2_000.0, &windows), expected);
    }
}
