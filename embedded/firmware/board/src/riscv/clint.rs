//! The clock: the CLINT's 10 MHz counter and its comparator. There are no periodic ticks.

use core::cell::RefCell;
use core::task::Waker;

use critical_section::Mutex;
use embassy_time_driver::Driver;
use embassy_time_queue_utils::Queue;

use crate::register::{read, write};

const COMPARATOR: usize = 0x0200_4000;
const COUNTER: usize = 0x0200_bff8;

struct Clint {
    queue: Mutex<RefCell<Queue>>,
}

embassy_time_driver::time_driver_impl!(static CLINT: Clint = Clint {
    queue: Mutex::new(RefCell::new(Queue::new())),
});

pub(crate) fn start() {
    compare_with(u64::MAX);
    // SAFETY: the comparator is set, so no alarm is due.
    unsafe { riscv::register::mie::set_mtimer() };
}

/// The counter in two halves, read again if the upper half changed in between.
fn now() -> u64 {
    loop {
        let (high, low) = (read(COUNTER + 4), read(COUNTER));
        if read(COUNTER + 4) == high {
            return u64::from(high) << 32 | u64::from(low);
        }
    }
}

/// Sets the upper half to its maximum first, so that no intermediate value is an alarm.
fn compare_with(at: u64) {
    write(COMPARATOR + 4, u32::MAX);
    write(COMPARATOR, at as u32);
    write(COMPARATOR + 4, (at >> 32) as u32);
}

impl Driver for Clint {
    fn now(&self) -> u64 {
        now()
    }

    fn schedule_wake(&self, at: u64, waker: &Waker) {
        critical_section::with(|section| {
            let mut queue = self.queue.borrow(section).borrow_mut();
            if queue.schedule_wake(at, waker) {
                compare_with(queue.next_expiration(now()));
            }
        });
    }
}

#[riscv_rt::core_interrupt(riscv::interrupt::Interrupt::MachineTimer)]
fn on_alarm() {
    critical_section::with(|section| {
        compare_with(CLINT.queue.borrow(section).borrow_mut().next_expiration(now()));
    });
}
