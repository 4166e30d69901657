//! The clock: embassy-time's driver on the host.

use core::cell::RefCell;
use core::task::Waker;
use std::sync::{Mutex, MutexGuard, PoisonError};

use critical_section::Mutex as Cell;
use embassy_time::{Duration, Instant};
use embassy_time_driver::Driver;
use embassy_time_queue_utils::Queue;

struct Clock(Cell<RefCell<State>>);

struct State {
    now: u64,
    queue: Queue,
}

embassy_time_driver::time_driver_impl!(
    static CLOCK: Clock = Clock(Cell::new(RefCell::new(State { now: 0, queue: Queue::new() })))
);

impl Clock {
    fn with<R>(&self, act: impl FnOnce(&mut State) -> R) -> R {
        critical_section::with(|section| act(&mut self.0.borrow_ref_mut(section)))
    }
}

impl Driver for Clock {
    fn now(&self) -> u64 {
        self.with(|state| state.now)
    }

    fn schedule_wake(&self, at: u64, waker: &Waker) {
        self.with(|state| {
            state.queue.schedule_wake(at, waker);
            state.queue.next_expiration(state.now); // wakes what is due
        });
    }
}

/// Exclusive access to the clock, so that tests run in turn.
pub struct Time(#[allow(dead_code, reason = "held")] MutexGuard<'static, ()>);

static TURN: Mutex<()> = Mutex::new(());

impl Time {
    /// Resets the clock to zero, without timers.
    pub fn begin() -> Self {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        CLOCK.with(|state| *state = State { now: 0, queue: Queue::new() });
        Self(turn)
    }

    /// Advances the clock, firing all timers on the way.
    pub fn pass(&self, duration: Duration) {
        let end = Instant::now() + duration;
        while self.jump(end) {}
    }

    /// Jumps to the next timer, or to `end` if there is none before. Returns whether there was one.
    pub fn jump(&self, end: Instant) -> bool {
        CLOCK.with(|state| {
            let next = state.queue.next_expiration(state.now);
            let fires = next <= end.as_ticks() && next < u64::MAX;
            state.now = if fires { next } else { end.as_ticks() };
            state.queue.next_expiration(state.now);
            fires
        })
    }
}

/// Later than any test lasts.
pub fn far() -> Instant {
    Instant::from_secs(1 << 24)
}
