//! What images with a throttle need from a board: a clock, a critical section and a seed, of a few
//! bytes each. Real ones belong to the firmware. The image without panics has the same.

use core::task::Waker;

use critical_section::RawRestoreState;
use embassy_time_driver::Driver;

/// A register whose value the optimiser cannot know.
static REGISTER: core::sync::atomic::AtomicU32 = core::sync::atomic::AtomicU32::new(0);

pub fn read() -> u32 {
    REGISTER.load(core::sync::atomic::Ordering::Relaxed)
}

struct Clock;

embassy_time_driver::time_driver_impl!(static CLOCK: Clock = Clock);

impl Driver for Clock {
    fn now(&self) -> u64 {
        super::number()
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

/// Bits of a hardware generator.
pub fn seed() -> u64 {
    super::number()
}
