//! The permit: the right to one attempt.

use std::fmt;
use std::mem::take;

use tidegate::queue::Place;
use tidegate::{Call, Outcome, Reply, gate};

use crate::acquire::Acquire;
use crate::error::Error;
use crate::lane::Held;
use crate::layers::{self, Layer, Layered};
use crate::observe;
use crate::timer::{Timer, Tokio};

/// The right to make one attempt of a call. Report the outcome with [`settle`](Self::settle).
///
/// If the permit is dropped instead, the call is abandoned: its place is free, and the gate learns
/// nothing. Its cost stays charged, because the call may have reached the server.
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
    lane: Held<LIMITS, T>,
    /// `None` once it has ended.
    permit: Option<gate::Permit<LIMITS>>,
    call: Call<LIMITS>,
    place: Place,
    learnt: bool,
    /// The other keys of the call.
    others: Vec<Layer<LIMITS, T>>,
}

impl<const LIMITS: usize, T: Timer> Permit<LIMITS, T> {
    pub(crate) const fn new(
        lane: Held<LIMITS, T>,
        permit: gate::Permit<LIMITS>,
        call: Call<LIMITS>,
        place: Place,
    ) -> Self {
        Self { lane, permit: Some(permit), call, place, learnt: false, others: Vec::new() }
    }

    /// The same, with the permits of other keys.
    pub(crate) fn and(mut self, others: Vec<Layer<LIMITS, T>>) -> Self {
        self.others = others;
        self
    }

    /// Reports the result of the call: an [`Outcome`], or a [`Reply`] with the server's hints.
    pub fn settle(mut self, reply: impl Into<Reply<LIMITS>>) {
        if let Some(permit) = self.permit.take() {
            let reply = layers::tell(&mut self.others, reply.into(), Layer::settle);
            self.lane.settle(permit, reply);
            self.observe(reply.outcome);
        }
    }

    /// Reports the result, and keeps the place until the permit is dropped: the headers of a
    /// response are known before its body has been read. A second report is ignored.
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
        if let Some(permit) = &mut self.permit
            && !self.learnt
        {
            let reply = layers::tell(&mut self.others, reply.into(), Layer::learn);
            self.learnt = true;
            self.lane.learn(permit, reply);
            observe::settled(&self.lane, reply.outcome);
        }
    }

    /// Corrects what the call is charged, after [`learn`](Self::learn): the end of a stream says how many tokens it
    /// used. `None` keeps the cost of a limit. If the call has several keys, the last one is corrected.
    ///
    /// ```
    /// use tidegate_tower::Gate;
    /// use tidegate_tower::tidegate::{Outcome, Policy, Quota, law::Fixed};
    ///
    /// let law = |each| Fixed::new(Quota::per_second(each).unwrap().with_burst(100).unwrap());
    /// let gate = Gate::new(Policy::of([10, 100].map(law)));
    /// let mut permit = gate.costing([1, 90]).try_acquire().unwrap();
    /// permit.learn(Outcome::Ok);
    /// permit.correct([None, Some(20)]);
    /// assert!(gate.costing([1, 80]).try_acquire().is_some());
    /// ```
    pub fn correct(&mut self, used: [Option<u32>; LIMITS]) {
        let (lane, permit) = match self.others.last_mut() {
            Some(last) => (&last.lane, &mut last.permit),
            None => (&self.lane, &mut self.permit),
        };
        if let Some(permit) = permit {
            lane.correct(permit, used);
        }
    }

    /// Returns the permit of a call that was not sent. Its cost is refunded, and the gate learns
    /// nothing.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tidegate_tower::Gate;
    /// use tidegate_tower::tidegate::{Policy, Quota, law::Fixed};
    ///
    /// let gate = Gate::new(Policy::new(Fixed::new(Quota::per_minute(1).unwrap())));
    /// gate.try_acquire().unwrap().refund();
    /// assert_eq!(gate.peek(), Ok(Duration::ZERO));
    /// ```
    pub fn refund(mut self) {
        if let Some(permit) = self.permit.take() {
            self.lane.refund(permit);
            observe::released(&self.lane);
            self.others.iter_mut().for_each(Layer::refund);
        }
    }

    /// Reports the result. If another attempt is due, await the returned future for its permit.
    ///
    /// # Errors
    /// [`Error::Rejected`] with the reason why the call is not retried: [`Reason::Final`] if the
    /// call was served, those of [`Controller::retry`], or a full queue.
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
        let (reply, key) = (reply.into(), self.lane.key.clone());
        let Some(permit) = self.permit.take() else { return Err(Error::Lapsed { key }) };
        let learns = layers::tell(&mut self.others, reply, Layer::settle);
        let next = self.lane.retry(permit, learns, reply, &self.call);
        self.observe(learns.outcome);
        let (lane, place) = (self.lane.share(), self.place);
        match next {
            Ok(call) if self.others.is_empty() => Ok(Acquire::again(lane, call, place)),
            Ok(call) => {
                self.others.iter_mut().for_each(|layer| layer.try_again(reply));
                let first = Layer::new(lane, None, call, place);
                Ok(Acquire::layered(Layered::again(first, take(&mut self.others))))
            }
            Err((reason, now)) => Err(Error::rejected(key, reason, now)),
        }
    }

    /// The number of earlier attempts of this call: 0 for the first.
    #[must_use]
    pub const fn attempt(&self) -> u16 {
        self.call.attempt()
    }

    /// The key of the call, or the first of several; empty if it has none.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.lane.key
    }

    fn observe(&self, outcome: Outcome) {
        if !self.learnt {
            observe::settled(&self.lane, outcome);
        }
    }
}

impl<const LIMITS: usize, T: Timer> Drop for Permit<LIMITS, T> {
    fn drop(&mut self) {
        if let Some(permit) = self.permit.take() {
            self.lane.release(permit);
            match self.learnt {
                true => observe::released(&self.lane),
                false => observe::settled(&self.lane, Outcome::Abandoned),
            }
            self.others.iter_mut().for_each(|layer| layer.release(self.learnt));
        }
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
