//! A part of a server that is slow, or fails slowly: one node of several behind a load balancer
//! that has not noticed.

use serde::{Deserialize, Serialize};
use tidegate::{Instant, Outcome};

use crate::chance::Chance;
use crate::scenario::units::Time;

/// A period in which a share of the calls reach the bad part.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    #[serde(default, skip_serializing_if = "crate::scenario::is_usual")]
    pub from: Time,
    pub to: Time,
    pub share: f64,
    #[serde(default, skip_serializing_if = "crate::scenario::is_usual")]
    pub delay: Time,
    #[serde(default, skip_serializing_if = "crate::scenario::is_usual")]
    pub reply: Reply,
}

/// The outcome of a call that reached the bad part.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    #[default]
    Ok,
    /// It is throttled because the server is overloaded.
    Busy,
    Failed,
    /// It is throttled before it reaches the limit, at any rate.
    Throttled,
}

/// How a call that can never be served is refused.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// It is throttled, without a hint.
    Throttled,
    Failed,
    /// It is larger than the limit, which throttles it with its hint.
    TooLarge,
}

impl Fault {
    pub(super) fn fault(&self) -> Option<&'static str> {
        if self.to <= self.from {
            return Some("a fault must end after it begins");
        }
        let is_share = self.share > 0.0 && self.share <= 1.0;
        (!is_share).then_some("the share of a fault must be above 0 and at most 1")
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
}

impl Reply {
    pub const fn outcome(self) -> Outcome {
        match self {
            Self::Ok => Outcome::Ok,
            Self::Busy => Outcome::Busy,
            Self::Failed => Outcome::Failed,
            Self::Throttled => Outcome::Throttled,
        }
    }
}
