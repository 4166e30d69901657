//! A call with a deadline for its response.

use core::future::Future;

use embassy_time::Instant;
use tidegate::Outcome;

use crate::call::Call;
use crate::desk::Verbs;
use crate::rejection::Rejection;
use crate::replied::Replied;
use crate::throttle::Shared;

/// A call with a deadline for its response. Returned by [`Call::done_by`] and
/// [`Call::done_within`].
///
/// The throttle learns how long such calls take, and rejects a call that would not be done in time
/// ([`Rejection::Late`]). A call in flight at the deadline is given up ([`Rejection::GivenUp`]);
/// the server may still serve it.
///
/// ```
/// # embassy_futures::block_on(async {
/// use embassy_sync::blocking_mutex::raw::NoopRawMutex;
/// use embassy_time::{Duration, Timer};
/// use tidegate::{Policy, law::Aimd};
/// use tidegate_embassy::{Rejection, Throttle};
///
/// let throttle: Throttle<NoopRawMutex, Aimd> = Throttle::seeded(const { &Policy::new(Aimd::DEFAULT) }, 7);
/// let slow = async || Timer::after_secs(3_600).await;
/// let sent = throttle.call().done_within(Duration::from_millis(5)).run(slow).await;
/// assert_eq!(sent, Err(Rejection::GivenUp));
/// # });
/// ```
#[must_use = "a call that is not run is not made"]
pub struct DoneBy<'a, T: Shared<LIMITS>, const LIMITS: usize = 1> {
    pub(crate) call: Call<'a, T, LIMITS>,
    pub(crate) deadline: Instant,
}

/// The result, if it arrived in time.
struct InTime<R>(Option<R>);

impl<R: Replied<LIMITS>, const LIMITS: usize> Replied<LIMITS> for InTime<R> {
    type Compact = R::Compact;

    fn compact(&self) -> R::Compact {
        self.0.as_ref().map_or_else(|| Outcome::Abandoned.into(), Replied::compact)
    }
}

impl<T: Shared<LIMITS>, const LIMITS: usize> DoneBy<'_, T, LIMITS> {
    /// Like [`Call::run`], with a deadline for the response.
    ///
    /// # Errors
    /// [`Rejection`] if no attempt could be sent; [`Rejection::GivenUp`] if the deadline passed
    /// while an attempt was in flight, even if earlier attempts had responses.
    pub fn run<R: Replied<LIMITS>>(
        self,
        mut call: impl AsyncFnMut() -> R,
    ) -> impl Future<Output = Result<R, Rejection>> {
        let Self { call: mut asks, deadline } = self;
        let desk = asks.throttle.desk();
        let (now, done_by) = (desk.now(), desk.instant(deadline));
        let leave_by = desk.with_call_time(|time| time.leave_by(now, done_by)).unwrap_or(done_by);
        let work = async move || {
            let began = desk.now();
            let answer = embassy_time::with_deadline(deadline, call()).await;
            let took = desk.now() - began;
            desk.with_call_time(|time| match answer {
                Ok(_) => time.took(took),
                Err(_) => time.took_longer(took),
            });
            InTime(answer.ok())
        };
        asks.call = asks.call.deadline(asks.call.not_after().min(leave_by));
        let run = asks.run(work);
        async move { run.await?.0.ok_or(Rejection::GivenUp) }
    }
}

impl<T: Shared<LIMITS>, const LIMITS: usize> core::fmt::Debug for DoneBy<'_, T, LIMITS> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("DoneBy").field("deadline", &self.deadline).finish_non_exhaustive()
    }
}

#[cfg(feature = "defmt")]
impl<T: Shared<LIMITS>, const LIMITS: usize> defmt::Format for DoneBy<'_, T, LIMITS> {
    fn format(&self, f: defmt::Formatter<'_>) {
        let left = self.deadline.saturating_duration_since(Instant::now()).as_millis();
        defmt::write!(f, "DoneBy {{ {=u64} ms left }}", left);
    }
}
