//! Whose policy applies to a budget: that of the process that joined last. See `core/docs/shared.md`.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tidegate::Policy;
use tidegate::law::AnyLaw;
use tidegate::shared::policy_digest;

use super::LocalError;
use crate::timer::span;

/// A process joins this long after its first request. One that ends earlier replaces no policy.
const JOINS: Duration = Duration::from_millis(250);

/// The shortest and the longest pause after a loss.
const PAUSE: Duration = Duration::from_secs(1);
const PAUSE_MOST: Duration = Duration::from_secs(60);

/// A policy as processes tell each other.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Told {
    /// When it was new, in milliseconds since 1970, but later than each policy that it replaced.
    pub(super) since: u64,
    /// Equal for equal policies.
    pub(super) digest: u32,
    /// For messages.
    pub(super) text: String,
}

/// See the module's documentation.
pub(super) struct Standing {
    own: Told,
    /// Whether `since` is known.
    is_known: bool,
    /// When the first request was sent.
    first: Option<Instant>,
    /// When the pause after a loss began, and how long it is.
    pause: Option<(Instant, Duration)>,
}

impl Standing {
    pub(super) fn new(policy: &Policy<AnyLaw>, expiry: Duration, heartbeat: Duration) -> Self {
        let digest = policy_digest(policy, span(expiry), span(heartbeat));
        let [law] = policy.laws();
        let text = format!("{law:?}, {expiry:?}, {heartbeat:?}");
        Self { own: Told { since: 0, digest, text }, is_known: false, first: None, pause: None }
    }

    /// Whether the policies are equal.
    pub(super) const fn is_equal(&self, other: &Self) -> bool {
        self.own.digest == other.own.digest
    }

    /// The process sends a request.
    pub(super) fn ask(&mut self) {
        self.first.get_or_insert_with(Instant::now);
    }

    /// This process takes the seat with its policy. `former` is the policy of this process that it replaces.
    pub(super) fn hold(&mut self, former: Option<&Told>) -> Told {
        self.set(former);
        self.own.clone()
    }

    /// This process has lost a seat that it did not leave. It may be slow, so it pauses before it takes one from
    /// another policy: for 1, 2, 4, … s.
    pub(super) fn lost(&mut self) {
        let pause = match self.pause {
            Some((began, pause)) if began.elapsed() < pause => return,
            Some((began, pause)) if began.elapsed() < pause + PAUSE_MOST => {
                (pause * 2).min(PAUSE_MOST)
            }
            _ => PAUSE,
        };
        self.pause = Some((Instant::now(), pause));
    }

    /// Whether this process's policy replaces that of a holder.
    pub(super) fn replaces(&mut self, other: &Told) -> bool {
        if other.digest == self.own.digest {
            (self.own.since, self.is_known) = (self.own.since.max(other.since), true);
            return false;
        }
        if self.first.is_some_and(|first| first.elapsed() >= JOINS) {
            self.set(Some(other));
        }
        let pauses = self.pause.is_some_and(|(began, pause)| began.elapsed() < pause);
        self.is_known && self.own.since > other.since && !pauses
    }

    /// Says that the policy of a holder applies, and not this one.
    pub(super) fn trouble(&self, other: &Told) -> Option<LocalError> {
        (self.is_known && other.digest != self.own.digest).then(|| {
            LocalError::new(format!(
                "the policy of this program, {}, does not apply, because one that joined later shares the \
                 budget with another: {}. Give both the same policy",
                self.own.text, other.text
            ))
        })
    }

    /// Sets since when the policy applies, if that is unknown.
    fn set(&mut self, former: Option<&Told>) {
        if self.is_known {
            return;
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let least = former.map_or(0, |former| former.since.saturating_add(1));
        self.own.since = u64::try_from(now.as_millis()).unwrap_or(u64::MAX).max(least);
        self.is_known = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_lost_its_seat_does_not_take_it_back_at_once() {
        let policy = Policy::new(AnyLaw::from(tidegate::law::Adaptive::DEFAULT));
        let mut own = Standing::new(&policy, PAUSE, PAUSE);
        let other = Told { since: 1, digest: !own.own.digest, text: String::new() };
        own.hold(Some(&other));
        assert!(own.replaces(&other));
        own.lost();
        assert!(!own.replaces(&other));
        let pauses = [1, 1, 2, 50].map(|seconds| {
            own.pause = own.pause.map(|(began, pause)| {
                (began.checked_sub(Duration::from_secs(seconds)).unwrap_or(began), pause)
            });
            let replaces = own.replaces(&other);
            own.lost();
            (replaces, own.pause.map(|(_, pause)| pause.as_secs()))
        });
        assert_eq!(pauses, [(true, Some(2)), (false, Some(2)), (true, Some(4)), (true, Some(8))]);
    }
}
