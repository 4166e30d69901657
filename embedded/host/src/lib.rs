//! Virtual time for tests: a clock that jumps from timer to timer, and tasks that run when woken.
//! Unlike embassy-time's mock clock, it supports any tick rate.
//!
//! It also exports what nearly every test uses.

mod clock;
mod tasks;

pub use core::cell::{Cell, RefCell};
use core::future::Future;
pub use core::num::NonZeroU16;
use core::pin::Pin;
use core::task::{Context, Waker};

pub use embassy_futures::select::{Either, select};
pub use embassy_sync::blocking_mutex::raw::NoopRawMutex;
pub use embassy_time::{Duration, Instant, TICK_HZ, Timer};
use tidegate::backoff::{Backoff, Growth, Jitter};
use tidegate::law::Law;
pub use tidegate::law::{Adaptive, Fixed};
pub use tidegate::{Hint, Outcome, Policy, Quota, Reply, Span};
use tidegate_embassy::{Acquire, Shared, time};
pub use tidegate_embassy::{KeyedThrottle, Rejection, Sessions, Throttle};
pub use tidegate_limits::{Limit, Sliding, Window};

pub use clock::{Time, far};
pub use tasks::{Tasks, next_poll};

/// A policy that lives as long as the test process.
pub fn leak<L: Law, const LIMITS: usize>(policy: Policy<L, LIMITS>) -> &'static Policy<L, LIMITS> {
    Box::leak(Box::new(policy))
}

/// Ten calls a second, two at a time.
pub fn policy() -> Policy<Fixed> {
    let quota = Quota::per_second(10).unwrap();
    Policy::new(Fixed::new(quota)).concurrency(NonZeroU16::new(2).unwrap())
}

/// One call in so many seconds.
pub fn every(secs: u64) -> Policy<Fixed> {
    Policy::new(Fixed::new(Quota::per(1, Span::from_secs(secs)).unwrap()))
}

/// Attempts this far apart.
pub fn apart(delay: Span) -> Option<Backoff> {
    Some(Backoff::new(Growth::Constant, Jitter::None, delay, delay).unwrap())
}

pub fn throttle<const WAITERS: usize>() -> Throttle<NoopRawMutex, Fixed, WAITERS> {
    throttle_of(policy())
}

pub fn throttle_of<L: Law, const WAITERS: usize>(
    policy: Policy<L>,
) -> Throttle<NoopRawMutex, L, WAITERS> {
    Throttle::seeded(leak(policy), 7)
}

/// Waits for its permit, and is served at once.
pub async fn served<T: Shared<1>>(acquire: Acquire<'_, T>) {
    served_after(Duration::MIN, acquire).await;
}

/// Waits for its permit, and is served so long after that.
pub async fn served_after<T: Shared<1>>(takes: Duration, acquire: Acquire<'_, T>) {
    let permit = acquire.await.unwrap();
    if takes > Duration::MIN {
        Timer::after(takes).await;
    }
    permit.settle(Outcome::Ok);
}

/// Outcomes of a call that fails so many times, and then is served.
pub fn failing(mut times: u32) -> impl FnMut() -> Outcome {
    move || match times.checked_sub(1) {
        Some(left) => {
            times = left;
            Outcome::Failed
        }
        None => Outcome::Ok,
    }
}

/// A task that waits and whose executor then is busy.
pub fn stuck<F: Future>(future: F) -> Pin<Box<F>> {
    let mut future = Box::pin(future);
    assert!(future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    future
}

/// The first tick that is at least this many milliseconds.
pub fn due(millis: u64) -> Instant {
    time::ticking(time::instant(Instant::from_ticks(0)) + Span::from_millis(millis))
}
