//! A call that waits for its permit.

use core::future::{Future, poll_fn};
use core::pin::Pin;
use core::task::{Context, Poll};

use tidegate::AsReply;

use crate::desk::{Standing, Verbs};
use crate::permit::Permit;
use crate::rejection::Rejection;
use crate::throttle::Shared;

/// Waits for a permit. Returned by [`Call::acquire`](crate::Call::acquire).
///
/// It may be dropped at any time. It then leaves the queue, and the next call takes its turn.
///
/// ```
/// use embassy_sync::blocking_mutex::raw::NoopRawMutex;
/// use tidegate::{Policy, law::Aimd};
/// use tidegate_embassy::Throttle;
///
/// let throttle: Throttle<NoopRawMutex, Aimd> = Throttle::seeded(const { &Policy::new(Aimd::DEFAULT) }, 7);
/// let (one, two) = (throttle.acquire(), throttle.acquire());
/// drop(one);
/// embassy_futures::block_on(two).unwrap().settle(tidegate::Outcome::Ok);
/// assert_eq!((throttle.in_flight(), throttle.waiting()), (0, 0));
/// ```
#[must_use = "nothing waits until it is awaited"]
pub struct Acquire<'a, T: Shared<LIMITS>, const LIMITS: usize = 1> {
    pub(crate) throttle: &'a T,
    pub(crate) key: T::Key,
    pub(crate) standing: Standing<LIMITS, T::Costs>,
}

impl<T: Shared<LIMITS>, const LIMITS: usize> Acquire<'_, T, LIMITS> {
    /// Ready when the call may be sent. Its permit stays here.
    pub(crate) fn admitted(&mut self) -> impl Future<Output = Result<(), Rejection>> {
        poll_fn(|context| self.stand(context))
    }

    /// Settles the admitted call. Returns whether it is tried again, in the same place.
    pub(crate) fn settle(&mut self, reply: &impl AsReply<LIMITS>) -> bool {
        let Self { throttle, key, standing } = self;
        let Some(permit) = standing.permit.take() else { return false };
        throttle.desk().settle(key, permit, reply, Some(&mut standing.call))
    }

    fn stand(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Rejection>> {
        let Self { throttle, key, standing } = self;
        throttle.desk().stand(key, standing, context)
    }
}

/// It holds no reference to itself.
impl<T: Shared<LIMITS>, const LIMITS: usize> Unpin for Acquire<'_, T, LIMITS> {}

impl<'a, T: Shared<LIMITS>, const LIMITS: usize> Future for Acquire<'a, T, LIMITS> {
    type Output = Result<Permit<'a, T, LIMITS>, Rejection>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        this.stand(context).map_ok(|()| Permit {
            throttle: this.throttle,
            key: this.key.clone(),
            raw: this.standing.permit.take(),
        })
    }
}

impl<T: Shared<LIMITS>, const LIMITS: usize> Drop for Acquire<'_, T, LIMITS> {
    fn drop(&mut self) {
        let Self { throttle, key, standing } = self;
        throttle.desk().end(key, standing.permit.take(), standing.number);
    }
}

impl<T: Shared<LIMITS>, const LIMITS: usize> core::fmt::Debug for Acquire<'_, T, LIMITS> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Acquire").field("call", &self.standing.call).finish_non_exhaustive()
    }
}

#[cfg(feature = "defmt")]
impl<T: Shared<LIMITS>, const LIMITS: usize> defmt::Format for Acquire<'_, T, LIMITS> {
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::write!(f, "Acquire {{ attempt: {} }}", self.standing.call.attempt());
    }
}
