//! A call that is about to be made.

use core::future::Future;

use embassy_time::{Duration, Instant};
use tidegate::{Outcome, Reply, Retry};

use crate::acquire::Acquire;
use crate::desk::{Standing, Verbs};
use crate::done_by::DoneBy;
use crate::permit::Permit;
use crate::rejection::Rejection;
use crate::replied::Replied;
use crate::throttle::Shared;

/// A call to be made: its cost, deadline, priority and key.
///
/// ```
/// # embassy_futures::block_on(async {
/// use embassy_sync::blocking_mutex::raw::NoopRawMutex;
/// use embassy_time::Duration;
/// use tidegate::{Policy, Quota, law::Fixed};
/// use tidegate_embassy::{Rejection, Throttle};
///
/// let slow = Box::leak(Box::new(Policy::new(Fixed::new(Quota::per_minute(1).unwrap()))));
/// let throttle: Throttle<NoopRawMutex, Fixed> = Throttle::seeded(slow, 7);
/// throttle.try_acquire().unwrap().settle(tidegate::Outcome::Ok);
/// // The next call may be sent in a minute, so this one is rejected at once.
/// let hasty = throttle.with_timeout(Duration::from_secs(10)).acquire().await;
/// assert!(matches!(hasty, Err(Rejection::Late(_))));
/// # });
/// ```
#[derive(Debug)]
#[must_use = "a call that is not acquired or run is not made"]
pub struct Call<'a, T: Shared<LIMITS>, const LIMITS: usize = 1> {
    pub(crate) throttle: &'a T,
    key: T::Key,
    pub(crate) call: tidegate::Call<LIMITS, T::Costs>,
    priority: u8,
}

impl<T: Shared<LIMITS, Costs = [u32; LIMITS]>, const LIMITS: usize> Call<'_, T, LIMITS> {
    /// Sets the cost of the call for each limit (default 1). A call that costs 0 of a limit is not
    /// subject to it. It needs a throttle whose calls have [costs](crate::Throttle#parameters). Costs that are known only
    /// from the response are [estimated](tidegate::Call::estimated) if the call states no costs.
    pub fn costing(self, costs: [u32; LIMITS]) -> Self {
        Self { call: self.call.of_limits(costs), ..self }
    }
}

impl<'a, T: Shared<LIMITS>, const LIMITS: usize> Call<'a, T, LIMITS> {
    pub(crate) const fn new(throttle: &'a T, key: T::Key) -> Self {
        Self { throttle, key, call: tidegate::Call::new(), priority: 0 }
    }

    /// Sets a deadline: each attempt must be sent at `deadline` or earlier. Otherwise the call is rejected
    /// ([`Rejection::Late`]). A call in flight is not stopped: [`done_by`](Self::done_by) does that.
    ///
    /// A call is rejected at once if the rate or a cooldown delays it beyond the deadline even as the first in the
    /// queue. This is checked again when another call of its key is not served, and when a setting changes. Other
    /// calls, in the queue or in flight, are not considered: if they delay it too much, it is rejected when it becomes
    /// the first, or at its deadline.
    pub fn with_deadline(self, deadline: Instant) -> Self {
        let deadline = self.throttle.desk().instant(deadline);
        Self { call: self.call.deadline(deadline), ..self }
    }

    /// Sets a deadline relative to now.
    pub fn with_timeout(self, timeout: Duration) -> Self {
        self.with_deadline(after(timeout))
    }

    /// Requires the response at `deadline` or earlier; see [`DoneBy`].
    pub const fn done_by(self, deadline: Instant) -> DoneBy<'a, T, LIMITS> {
        DoneBy { call: self, deadline }
    }

    /// Requires the response within `timeout` from now; see [`DoneBy`].
    pub fn done_within(self, timeout: Duration) -> DoneBy<'a, T, LIMITS> {
        self.done_by(after(timeout))
    }

    /// Sets a priority, from 0 (the default) to 7. Calls with a higher priority are sent first. If
    /// all places are taken, a call with a priority above 0 takes the place of the latest call of a
    /// lower priority that waits for its first attempt. A call of priority 0 that loses its place is
    /// rejected ([`Rejection::QueueFull`]). A call with a higher priority is not: it waits without a
    /// place, and tries again when the next call may be sent, or after a second.
    pub fn with_priority(self, priority: u8) -> Self {
        Self { priority, ..self }
    }

    /// Sets after which outcomes the call is tried again: by default, also after a failure.
    ///
    /// ```
    /// # embassy_futures::block_on(async {
    /// # use embassy_sync::blocking_mutex::raw::NoopRawMutex;
    /// # use tidegate_embassy::Throttle;
    /// use tidegate::{Outcome, Policy, Retry, law::Aimd};
    ///
    /// # let throttle: Throttle<NoopRawMutex, Aimd> = Throttle::seeded(const { &Policy::new(Aimd::DEFAULT) }, 7);
    /// let once = throttle.call().retry(Retry::Throttled).run(async || Outcome::Failed);
    /// assert_eq!(once.await, Ok(Outcome::Failed));
    /// # });
    /// ```
    pub fn retry(self, retry: Retry) -> Self {
        Self { call: self.call.retry(retry), ..self }
    }

    /// Returns a permit if a call may be sent now and no call of this or a higher priority waits for one.
    /// Where calls wait, this is seldom: the first of them is sent as soon as one may be. An interrupt with an
    /// urgent call signals a task that [`acquire`](Self::acquire)s.
    pub fn try_acquire(self) -> Option<Permit<'a, T, LIMITS>> {
        let raw = self.throttle.desk().take(&self.key, &self.call, self.priority)?;
        Some(Permit { throttle: self.throttle, key: self.key, raw: Some(raw) })
    }

    /// Waits for a permit, first come, first served.
    ///
    /// Resolves to a [`Rejection`] if waiting does not help.
    ///
    /// The task asks for the permit when its turn comes. A call whose future is kept but not polled then delays the calls
    /// behind it.
    ///
    /// A call that is dropped loses its place in the queue. If a loop waits for a permit and for other
    /// events, create the call outside of the loop: one that is created in each turn joins the queue at
    /// its end in each turn, and may never be admitted beside other tasks.
    ///
    /// ```
    /// # embassy_futures::block_on(async {
    /// # use embassy_sync::blocking_mutex::raw::NoopRawMutex;
    /// # use embassy_time::{Duration, Ticker};
    /// # use tidegate::{Outcome, Policy, Quota, law::Fixed};
    /// # use tidegate_embassy::{Rejection, Throttle};
    /// use embassy_futures::select::{Either, select};
    ///
    /// # let tenth = Box::leak(Box::new(Policy::new(Fixed::new(Quota::per_second(10).unwrap()))));
    /// # let throttle: Throttle<NoopRawMutex, Fixed> = Throttle::seeded(tenth, 7);
    /// # let (mut pings, mut left) = (Ticker::every(Duration::from_millis(30)), 3);
    /// let mut waits = throttle.acquire();
    /// loop {
    ///     match select(&mut waits, pings.next()).await {
    ///         Either::First(permit) => {
    ///             // ... make the call ...
    ///             permit?.settle(Outcome::Ok);
    ///             waits = throttle.acquire();
    /// #           left -= 1;
    /// #           if left == 0 { break }
    ///         }
    ///         Either::Second(()) => {} // ... ping ...
    ///     }
    /// }
    /// # Ok::<(), Rejection>(()) }).unwrap();
    /// ```
    pub fn acquire(self) -> Acquire<'a, T, LIMITS> {
        let standing = Standing::new(self.call, self.priority);
        Acquire { throttle: self.throttle, key: self.key, standing }
    }

    /// Makes the call when it may be sent, and retries it if it is throttled or fails, within the
    /// policy's attempts and time and, where calls have costs, its retry budget.
    ///
    /// The result contains the outcome ([`Replied`]). Returns the last result. The future may be
    /// dropped at any time, which abandons a call in flight.
    ///
    /// A first attempt of priority 0 is rejected if no place is free. Other attempts try again when
    /// the next call may be sent, or after a second.
    ///
    /// The server may have served a call that failed, because the response can be lost. If a
    /// message must not arrive twice, number messages or limit the [`retry`](Self::retry).
    ///
    /// In the closure, `?` works if the type of the result is named: `run::<Result<Outcome, Error>>(async || …)`.
    ///
    /// # Errors
    /// [`Rejection`] if no attempt could be sent.
    pub fn run<R: Replied<LIMITS>>(
        self,
        mut call: impl AsyncFnMut() -> R,
    ) -> impl Future<Output = Result<R, Rejection>> {
        let mut place = self.acquire();
        // A block instead of an `async fn`, with the inner future pinned here only: a task's future
        // stays in the firmware's memory, and would otherwise contain its arguments twice.
        async move {
            let mut last = None;
            loop {
                if let Err(rejection) = place.admitted().await {
                    // The last result is worth more to the caller than the reason of the rejection.
                    return last.ok_or(rejection);
                }
                drop(last);
                let answer = call().await;
                if !place.settle(&answer.compact()) {
                    return Ok(answer);
                }
                last = Some(answer);
            }
        }
    }

    /// Like [`run`](Self::run), for a call that writes the outcome and the hints in place and may return anything.
    /// That takes less code and stack: a [`Reply`](tidegate::Reply) takes about 100 bytes, which `run` moves several
    /// times.
    ///
    /// At first, the reply says that the call failed, so `?` works in the closure.
    ///
    /// ```
    /// # embassy_futures::block_on(async {
    /// # use embassy_sync::blocking_mutex::raw::NoopRawMutex;
    /// # use tidegate_embassy::Throttle;
    /// use tidegate::signal::http::Reading;
    /// use tidegate::{Policy, Reply, law::Aimd};
    ///
    /// # struct Response { status: u16, headers: [(&'static str, &'static str); 1] }
    /// # async fn post() -> Result<Response, core::fmt::Error> {
    /// #     Ok(Response { status: 200, headers: [("x-ratelimit-remaining", "7")] })
    /// # }
    /// # let throttle: Throttle<NoopRawMutex, Aimd> = Throttle::seeded(const { &Policy::new(Aimd::DEFAULT) }, 7);
    /// let sent = throttle.run_with(async |reply: &mut Reply| {
    ///     let response = post().await?;
    ///     let mut reading = Reading::common(response.status);
    ///     for (name, value) in response.headers {
    ///         reading.header(name, value);
    ///     }
    ///     *reply = reading.reply(None);
    ///     Ok::<_, core::fmt::Error>(response.status)
    /// });
    /// assert_eq!(sent.await, Ok(Ok(200)));
    /// # });
    /// ```
    ///
    /// # Errors
    /// [`Rejection`] if no attempt could be sent.
    pub fn run_with<R>(
        self,
        mut call: impl AsyncFnMut(&mut Reply<LIMITS>) -> R,
    ) -> impl Future<Output = Result<R, Rejection>> {
        let mut place = self.acquire();
        async move {
            let mut last = None;
            loop {
                if let Err(rejection) = place.admitted().await {
                    return last.ok_or(rejection);
                }
                drop(last);
                let mut reply = Outcome::Failed.into();
                let answer = call(&mut reply).await;
                if !place.settle(&reply) {
                    return Ok(answer);
                }
                last = Some(answer);
            }
        }
    }
}

#[cfg(feature = "defmt")]
impl<T: Shared<LIMITS>, const LIMITS: usize> defmt::Format for Call<'_, T, LIMITS> {
    fn format(&self, f: defmt::Formatter<'_>) {
        let left = self.call.not_after() - self.throttle.desk().now();
        let left = crate::time::duration(left).as_millis();
        defmt::write!(f, "Call {{ priority: {}, {} ms left }}", self.priority, left);
    }
}

/// The instant `timeout` from now.
fn after(timeout: Duration) -> Instant {
    Instant::now().checked_add(timeout).unwrap_or(Instant::MAX)
}

#[cfg(test)]
mod tests {
    use embassy_sync::blocking_mutex::raw::NoopRawMutex;
    use tidegate::{Outcome, Policy, law::Aimd};

    use crate::throttle::Throttle;

    async fn post(payload: [u8; 1_000]) -> Outcome {
        embassy_futures::yield_now().await;
        match payload {
            [0, ..] => Outcome::Failed,
            _ => Outcome::Ok,
        }
    }

    #[test]
    fn a_task_contains_its_call_only_once() {
        let throttle: Throttle<NoopRawMutex, Aimd> =
            Throttle::seeded(const { &Policy::new(Aimd::DEFAULT) }, 7);
        let call = size_of_val(&post([1; _]));
        let run = throttle.run(async || post([1; _]).await);
        assert!(size_of_val(&run) < call + 300, "{} for a call of {call}", size_of_val(&run));
        assert_eq!(embassy_futures::block_on(run), Ok(Outcome::Ok));
    }
}
