//! Whose policy applies to a budget: see [`tidegate::shared::Standing`].

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tidegate::Policy;
use tidegate::law::AnyLaw;
use tidegate::shared::{Rank, Standing as Rule, policy_digest};

use super::LocalError;
use crate::timer::{Timer, Tokio, span};

/// A policy as processes tell each other.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Told {
    /// Its start, in milliseconds since 1970.
    pub(super) since: u64,
    pub(super) digest: u32,
    pub(super) text: String,
}

#[derive(Debug)]
pub(super) struct Standing {
    pub(super) policy: Policy<AnyLaw>,
    rule: Rule,
    text: String,
    clock: Tokio,
}

impl Standing {
    pub(super) fn new(policy: Policy<AnyLaw>, expiry: Duration, heartbeat: Duration) -> Self {
        let rule = Rule::new(policy_digest(&policy, span(expiry), span(heartbeat)));
        let text = format!("{:?}, {expiry:?}, {heartbeat:?}", policy.laws()[0]);
        Self { policy, rule, text, clock: Tokio::default() }
    }

    /// Sets another policy, which is later than the present one if this process holds the seat.
    pub(super) fn set(&mut self, mut next: Self, is_held: bool) {
        if next.rule.digest() == self.rule.digest() {
            self.policy = next.policy;
            return;
        }
        next.ask();
        if is_held {
            next.rule.hold(next.rule.start_after(today(), self.told().since));
        }
        *self = next;
    }

    pub(super) fn ask(&mut self) {
        self.rule.ask(self.clock.now());
    }

    /// The policy as another process is told that it should leave the seat.
    pub(super) fn told(&self) -> Told {
        let since = self.rule.start(today());
        Told { since, digest: self.rule.digest(), text: self.text.clone() }
    }

    /// The same, while this process has the seat.
    pub(super) fn hold(&mut self) -> Told {
        let told = self.told();
        self.rule.hold(told.since);
        told
    }

    /// This process has lost a seat that it did not leave.
    pub(super) fn lost(&mut self) {
        self.rule.lost(self.clock.now());
    }

    /// Whether this process's policy replaces that of a holder, or else an error that it is replaced.
    pub(super) fn meet(&mut self, other: &Told) -> Result<bool, LocalError> {
        match self.rule.meet(self.clock.now(), today(), other.since, other.digest) {
            Rank::Replaced => {
                Err(self.is_replaced(other, "that joined later", "Give both the same policy"))
            }
            Rank::ReplacedAhead => Err(self.is_replaced(
                other,
                "whose clock is more than a day ahead of that of this one",
                "Set the clock of both machines, and restart that program",
            )),
            rank => Ok(rank == Rank::Replaces),
        }
    }

    fn is_replaced(&self, other: &Told, why: &str, remedy: &str) -> LocalError {
        LocalError::new(format!(
            "the policy of this program, {}, does not apply, because one {why} shares the budget with another: \
             {}. {remedy}",
            self.text, other.text
        ))
    }
}

fn today() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}
