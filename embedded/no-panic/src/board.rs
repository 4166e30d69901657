//! A clock and a critical section that are opaque to the optimiser.

use core::sync::atomic::{AtomicU32, Ordering};
use core::task::Waker;

use critical_section::RawRestoreState;
use embassy_time_driver::Driver;

static REGISTER: AtomicU32 = AtomicU32::new(0);

struct Clock;

embassy_time_driver::time_driver_impl!(static CLOCK: Clock = Clock);

impl Driver for Clock {
    fn now(&self) -> u64 {
        let [high, low] = [(); 2].map(|()| REGISTER.load(Ordering::Relaxed));
        u64::from(high) << 32 | u64::from(low)
    }

    fn schedule_wake(&self, at: u64, waker: &Waker) {
        if at <= self.now() {
            waker.wake_by_ref();
        }
    }
}

struct Lock;

critical_section::set_impl!(Lock);

unsafe impl critical_section::Impl for Lock {
    unsafe fn acquire() -> RawRestoreState {
        REGISTER.store(1, Ordering::Relaxed);
    }

    unsafe fn release(_: RawRestoreState) {
        REGISTER.store(0, Ordering::Relaxed);
    }
}

pub fn seed() -> u64 {
    CLOCK.now()
}
