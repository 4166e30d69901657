//! The permit: the right to one attempt.

use std::fmt;
use std::mem::take;

use tidegate::{Call, Reply};

use crate::acquire::Acquire;
use crate::error::Error;
use crate::lane::Lane;
use crate::layers::{Layer, Layers};
use crate::timer::{Timer, Tokio};

/// The right to make one attempt of a call. Report the outcome with [`settle`](Self::settle).
///
/// If the permit is dropped instead, the call is abandoned: its slot is free, and the gate learns nothing. Its cost
/// stays charged, because the call may have reached the server.
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
    pub(crate) call: Call<LIMITS>,
    pub(crate) layers: Layers<LIMITS, T>,
}

impl<const LIMITS: usize, T: Timer> Permit<LIMITS, T> {
    pub(crate) const fn new(layers: Layers<LIMITS, T>, call: Call<LIMITS>) -> Self {
        Self { call, layers }
    }

    /// The permit, without which this one is empty.
    pub(crate) fn take(&mut self) -> Self {
        Self::new(take(&mut self.layers), self.call)
    }

    pub(crate) fn last(&self) -> &Lane<LIMITS, T> {
        &self.layers[self.layers.len() - 1].lane
    }

    /// Passes a reply to each key. The last one gets all of it, and the others the outcome, or nothing if the hints say
    /// that the last one's limit is used up.
    fn teach(
        &mut self,
        reply: &Reply<LIMITS>,
        mut learn: impl FnMut(&mut Layer<LIMITS, T>, &Reply<LIMITS>),
    ) {
        let Some((last, others)) = self.layers.split_last_mut() else { return };
        if others.is_empty() {
            return learn(last, reply);
        }
        let of_last = last.permit.as_ref().map(|permit| permit.others_learn(reply));
        let learns = of_last.unwrap_or(reply.outcome.into());
        learn(last, reply);
        others.iter_mut().for_each(|layer| learn(layer, &learns));
    }

    /// Ends the call. A reply after [`learn`](Self::learn) is ignored.
    pub(crate) fn end(&mut self, reply: &Reply<LIMITS>) {
        self.teach(reply, |layer, reply| layer.end(Some(reply)));
    }

    pub(crate) fn take_back(&mut self) {
        self.layers.iter_mut().for_each(Layer::refund);
    }

    /// Reports the result of the call: an [`Outcome`](tidegate::Outcome), or a [`Reply`]
    /// with the server's hints.
    pub fn settle(mut self, reply: impl Into<Reply<LIMITS>>) {
        self.end(&reply.into());
    }

    /// Reports the result, and keeps the slot until the permit is dropped: the headers of a response are known before
    /// its body has been read. A second report is ignored.
    ///
    /// ```
    /// use tidegate_tower::Gate;
    /// use tidegate_tower::tidegate::Outcome;
    ///
    /// let gate = Gate::adaptive();
    /// let mut permit = gate.try_acquire().unwrap();
    /// permit.learn(Outcome::Ok); // the headers are there
    /// assert_eq!(gate.stats().in_flight, 1);
    /// drop(permit); // the body has been read
    /// assert_eq!((gate.stats().in_flight, gate.stats().counts.ok), (0, 1));
    /// ```
    pub fn learn(&mut self, reply: impl Into<Reply<LIMITS>>) {
        self.teach(&reply.into(), Layer::learn);
    }

    /// Corrects the cost of the call after [`learn`](Self::learn), for example when the end of a stream reports how
    /// many tokens it used. `None` keeps the cost of a limit. If the call has several keys, the last one is corrected.
    ///
    /// ```
    /// use tidegate_tower::Gate;
    /// use tidegate_tower::tidegate::{Outcome, Policy, Quota, law::Fixed};
    ///
    /// let law = |each| Fixed::new(Quota::per_second(each).unwrap().with_burst(100).unwrap());
    /// let gate = Gate::new(Policy::of([10, 100].map(law)));
    /// let mut permit = gate.call().costing([1, 90]).try_acquire().unwrap();
    /// permit.learn(Outcome::Ok);
    /// permit.correct([None, Some(20)]);
    /// assert!(gate.call().costing([1, 80]).try_acquire().is_some());
    /// ```
    pub fn correct(&mut self, used: [Option<u32>; LIMITS]) {
        self.layers.last_mut().into_iter().for_each(|layer| layer.correct(used));
    }

    /// Returns the permit of a call that was not sent. Its cost is refunded, and the gate learns
    /// nothing.
    ///
    /// ```
    /// # let gate = tidegate_tower::Gate::adaptive();
    /// gate.try_acquire().unwrap().refund();
    /// assert_eq!(gate.stats().in_flight, 0);
    /// ```
    pub fn refund(mut self) {
        self.take_back();
    }

    /// Reports the result. If another attempt is due, await the returned future for its permit. A call that failed is
    /// retried only if it is [`idempotent`](crate::Call::idempotent).
    ///
    /// # Errors
    /// [`Error::Rejected`] with the reason why the call is not retried: [`Reason::Final`] if the call was served, else
    /// one of [`Controller::retry`].
    ///
    /// ```
    /// use tidegate_tower::Gate;
    /// use tidegate_tower::tidegate::Outcome;
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), tidegate_tower::Error> {
    /// let mut answers = [Outcome::Throttled, Outcome::Ok].into_iter();
    /// let mut permit = Gate::adaptive().acquire().await?;
    /// while let Ok(again) = permit.retry(answers.next().unwrap()) {
    ///     permit = again.await?;
    /// }
    /// assert_eq!(answers.next(), None);
    /// # Ok(()) }
    /// ```
    ///
    /// [`Controller::retry`]: tidegate::Controller::retry
    /// [`Reason::Final`]: tidegate::Reason::Final
    pub fn retry(mut self, reply: impl Into<Reply<LIMITS>>) -> Result<Acquire<LIMITS, T>, Error> {
        let (reply, call) = (reply.into(), self.call);
        self.end(&reply);
        self.call = self.layers[0].lane.retry(&call, reply)?;
        // The other keys see another attempt, and not a new call.
        self.layers[1..].iter().for_each(|layer| _ = layer.lane.retry(&call, reply));
        Ok(Acquire::new(self.take()))
    }

    /// The number of earlier attempts of this call: 0 for the first.
    #[must_use]
    pub const fn attempt(&self) -> u16 {
        self.call.attempt()
    }

    /// The key of the call, or the first of several; empty if it has none.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.layers[0].lane.key
    }
}

impl<const LIMITS: usize, T: Timer> Drop for Permit<LIMITS, T> {
    fn drop(&mut self) {
        self.layers.iter_mut().for_each(|layer| layer.end(None));
    }
}

impl<const LIMITS: usize, T: Timer> fmt::Debug for Permit<LIMITS, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit")
            .field("key", &self.key())
            .field("attempt", &self.attempt())
            .finish_non_exhaustive()
    }
}
