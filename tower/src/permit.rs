//! The permit: the right to one attempt.

use std::fmt;

use tidegate::queue::Ticket;
use tidegate::{Outcome, Reply};

use crate::acquire::Acquire;
use crate::lane::Held;
use crate::observe;
use crate::timer::{Timer, Tokio};

/// The right to one attempt at a call. Report what became of it with [`settle`](Self::settle).
///
/// A permit that is dropped instead is abandoned: it frees its place and teaches nothing, and its cost stays
/// charged, because the call may have reached the server.
///
/// ```
/// use tidegate_tower::Gate;
/// use tidegate_tower::tidegate::Outcome;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tidegate_tower::Error> {
/// let gate = Gate::adaptive();
/// let permit = gate.acquire().await?;
/// // ... make the call ...
/// permit.settle(Outcome::Ok);
/// drop(gate.acquire().await?);
/// let counts = gate.stats().counts;
/// assert_eq!((counts.ok, counts.abandoned), (1, 1));
/// # Ok(()) }
/// ```
#[must_use = "a permit that is dropped is an abandoned call: settle it"]
pub struct Permit<const LIMITS: usize = 1, T: Timer = Tokio> {
    /// `None` once it is settled.
    lane: Option<Held<LIMITS, T>>,
    ticket: Ticket,
    attempt: u16,
}

impl<const LIMITS: usize, T: Timer> Permit<LIMITS, T> {
    pub(crate) const fn new(lane: Held<LIMITS, T>, ticket: Ticket, attempt: u16) -> Self {
        Self { lane: Some(lane), ticket, attempt }
    }

    /// Reports what became of the call: an [`Outcome`], or a [`Reply`] with what the server said about its
    /// limit.
    pub fn settle(self, reply: impl Into<Reply<LIMITS>>) {
        self.give_back(reply.into(), false);
    }

    /// Reports the same. If another attempt is due, awaiting the result waits for its turn; `None` where
    /// the call was served, or another attempt is not worth it: see [`Controller::retry`].
    ///
    /// ```
    /// use tidegate_tower::Gate;
    /// use tidegate_tower::tidegate::Outcome;
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), tidegate_tower::Error> {
    /// let mut answers = [Outcome::Throttled, Outcome::Ok].into_iter();
    /// let mut permit = Gate::adaptive().acquire().await?;
    /// while let Some(again) = permit.retry(answers.next().unwrap()) {
    ///     permit = again.await?;
    /// }
    /// assert_eq!(answers.next(), None);
    /// # Ok(()) }
    /// ```
    ///
    /// [`Controller::retry`]: tidegate::Controller::retry
    pub fn retry(self, reply: impl Into<Reply<LIMITS>>) -> Option<Acquire<LIMITS, T>> {
        self.give_back(reply.into(), true)
    }

    /// How many attempts of this call came before: 0 for the first.
    #[must_use]
    pub const fn attempt(&self) -> u16 {
        self.attempt
    }

    /// The key of the call; empty where it has none.
    #[must_use]
    pub fn key(&self) -> &str {
        self.lane.as_ref().map_or("", |lane| &lane.key)
    }

    pub(crate) fn give_back(
        mut self,
        reply: Reply<LIMITS>,
        again: bool,
    ) -> Option<Acquire<LIMITS, T>> {
        let lane = self.lane.take()?;
        let waits = lane.settle(self.ticket, reply, again);
        observe::settled(&lane, reply.outcome);
        waits.then(|| Acquire::again(lane, self.ticket, self.attempt.saturating_add(1)))
    }
}

impl<const LIMITS: usize, T: Timer> Drop for Permit<LIMITS, T> {
    fn drop(&mut self) {
        if let Some(lane) = &self.lane {
            lane.settle(self.ticket, Outcome::Abandoned.into(), false);
            observe::settled(lane, Outcome::Abandoned);
        }
    }
}

impl<const LIMITS: usize, T: Timer> fmt::Debug for Permit<LIMITS, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit")
            .field("key", &self.key())
            .field("attempt", &self.attempt)
            .finish_non_exhaustive()
    }
}
