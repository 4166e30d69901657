//! A part of a server that is slow, or fails slowly: one node of several behind a load balancer
//! that has not noticed.

use serde::Deserialize;
use tidegate::Outcome;
#[cfg(feature = "full")]
use tidegate::{Hint, Instant, Span};

#[cfg(feature = "full")]
use super::Answer;
#[cfg(feature = "full")]
use crate::chance::Chance;
use crate::scenario::units::Time;

/// A period in which a share of the calls reach the bad part.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// When it begins.
    #[serde(default)]
    pub from: Time,
    /// When it is over.
    pub to: Time,
    /// The share of the calls.
    pub share: f64,
    /// How much longer they take.
    #[serde(default)]
    pub delay: Time,
    /// The outcome of these calls.
    #[serde(default)]
    pub reply: Reply,
}

/// The outcome of a call that reached the bad part.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// It is served.
    #[default]
    Ok,
    /// It is throttled because the server is overloaded.
    Busy,
    /// It fails.
    Failed,
    /// It is throttled before it reaches the limit, at any rate.
    Throttled,
}

/// How a call that can never be served is refused.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// It is throttled, without a hint.
    Throttled,
    /// It fails.
    Failed,
    /// It is larger than the limit, which throttles it with its hint.
    TooLarge,
}

#[cfg(feature = "full")]
impl Fault {
    pub(super) fn fault(&self) -> Option<&'static str> {
        if self.to <= self.from {
            return Some("a fault must end after it begins");
        }
        let is_share = self.share > 0.0 && self.share <= 1.0;
        (!is_share).then_some("the share of a fault is above 0, and 1 at most")
    }

    /// The fault that a call reaches at `now`, if any, of those before the limit or behind it.
    /// Random numbers are drawn only during a fault.
    pub(super) fn that_hits<'a>(
        faults: &'a [Self],
        before: bool,
        now: Instant,
        chance: &mut Chance,
    ) -> Option<&'a Self> {
        let present = |fault: &&Self| {
            let here = (fault.reply == Reply::Throttled) == before;
            here && now >= fault.from.instant() && now < fault.to.instant()
        };
        faults.iter().filter(present).find(|fault| chance.unit() < fault.share)
    }

    /// The answer to a call that would have taken `delay`.
    pub(super) fn answer(&self, delay: Span) -> Answer {
        let delay = delay.saturating_add(self.delay.span());
        Answer { outcome: self.reply.outcome(), delay, hint: Hint::NONE }
    }
}

impl Reply {
    /// The outcome of such a call.
    pub const fn outcome(self) -> Outcome {
        match self {
            Self::Ok => Outcome::Ok,
            Self::Busy => Outcome::Busy,
            Self::Failed => Outcome::Failed,
            Self::Throttled => Outcome::Throttled,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chance::Stream;

    fn fault(share: f64, reply: Reply) -> Fault {
        let time = |seconds| Span::from_secs(seconds).into();
        Fault { from: time(10), to: time(20), share, delay: time(3), reply }
    }

    #[test]
    fn a_fault_affects_its_share_of_the_calls_during_its_time() {
        let mut chance = Chance::new(1, Stream::Server);
        let faults = [fault(0.25, Reply::Ok)];
        for (seconds, least, most) in
            [(9, 0, 0), (10, 2_380, 2_620), (19, 2_380, 2_620), (20, 0, 0)]
        {
            let now = Instant::ZERO.saturating_add(Span::from_secs(seconds));
            let met = |_: &u32| Fault::that_hits(&faults, false, now, &mut chance).is_some();
            // Within 2.8 standard deviations (43) of 10 000 draws.
            let count = (0..10_000).filter(met).count();
            assert!((least..=most).contains(&count), "{count} at {seconds} s");
        }
    }

    #[test]
    fn an_affected_call_takes_longer_and_has_no_hint() {
        let answer = fault(1.0, Reply::Busy).answer(Span::from_millis(50));
        assert_eq!((answer.delay, answer.hint), (Span::from_millis(3_050), Hint::NONE));
    }
}
