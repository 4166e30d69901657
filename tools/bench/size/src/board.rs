//! What a board gives to the images with a throttle: a clock, an interrupt lock, and a seed. A few
//! bytes each; real ones are the firmware's own.

use core::task::Waker;

use critical_section::RawRestoreState;
use embassy_time_driver::Driver;

/// A register that tells something, as far as the optimiser knows.
static REGISTER: core::sync::atomic::AtomicU32 = core::sync::atomic::AtomicU32::new(0);

fn read() -> u32 {
    REGISTER.load(core::sync::atomic::Ordering::Relaxed)
}

struct Clock;

embassy_time_driver::time_driver_impl!(static CLOCK: Clock = Clock);

impl Driver for Clock {
    fn now(&self) -> u64 {
        u64::from(read())
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
        REGISTER.store(1, core::sync::atomic::Ordering::Relaxed);
    }

    unsafe fn release(_: RawRestoreState) {
        REGISTER.store(0, core::sync::atomic::Ordering::Relaxed);
    }
}

/// What makes this chip another than its neighbour.
pub fn seed() -> u64 {
    u64::from(read())
}
