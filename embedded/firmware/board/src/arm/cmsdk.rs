//! The clock: the MPS2's two CMSDK timers at 25 MHz. One runs freely, the other is the alarm. There
//! are no periodic ticks, so no time is lost when the host is busy.

use core::cell::{Cell, RefCell};
use core::task::Waker;

use critical_section::{CriticalSection, Mutex};
use embassy_time_driver::{Driver, TICK_HZ};
use embassy_time_queue_utils::Queue;

use crate::register::{read, write};

/// Counts down from 2³²-1 forever; interrupt 8.
const FREE: usize = 0x4000_0000;
/// Counts down once; interrupt 9.
const ALARM: usize = 0x4000_1000;

// The registers of either timer.
const CONTROL: usize = 0;
const VALUE: usize = 4;
const RELOAD: usize = 8;
const INTERRUPTED: usize = 12;

const ON: u32 = 1 | 1 << 3;
const ENABLE_INTERRUPTS: usize = 0xe000_e100;
const CYCLES_PER_TICK: u64 = 25_000_000 / TICK_HZ;
/// An earlier alarm could be missed.
const SOONEST: u64 = 50;

struct Cmsdk {
    wraps: Mutex<Cell<u64>>,
    queue: Mutex<RefCell<Queue>>,
}

embassy_time_driver::time_driver_impl!(static CMSDK: Cmsdk = Cmsdk {
    wraps: Mutex::new(Cell::new(0)),
    queue: Mutex::new(RefCell::new(Queue::new())),
});

pub(crate) fn start() {
    write(FREE + RELOAD, u32::MAX);
    write(FREE + VALUE, u32::MAX);
    write(FREE + INTERRUPTED, 1);
    write(FREE + CONTROL, ON);
    write(ENABLE_INTERRUPTS, 1 << 8 | 1 << 9);
}

pub(crate) fn on_interrupt() {
    critical_section::with(|section| {
        CMSDK.set_alarm(section, &mut CMSDK.queue.borrow(section).borrow_mut());
    });
}

impl Cmsdk {
    /// Cycles since the start. A wrap whose interrupt is pending is included.
    fn cycles(&self, section: CriticalSection<'_>) -> u64 {
        let wraps = self.wraps.borrow(section);
        let mut down = read(FREE + VALUE);
        if read(FREE + INTERRUPTED) & 1 != 0 {
            write(FREE + INTERRUPTED, 1);
            wraps.set(wraps.get() + 1);
            down = read(FREE + VALUE);
        }
        (wraps.get() << 32) + u64::from(!down)
    }

    /// Wakes what is due, and sets the next alarm. A distant alarm is reached in steps.
    fn set_alarm(&self, section: CriticalSection<'_>, queue: &mut Queue) {
        write(ALARM + CONTROL, 0);
        write(ALARM + INTERRUPTED, 1);
        let now = self.cycles(section);
        let next = queue.next_expiration(now / CYCLES_PER_TICK);
        if next == u64::MAX {
            return;
        }
        let left = next.saturating_mul(CYCLES_PER_TICK).saturating_sub(now);
        // Without a reload value it counts once. With one, QEMU woke the core a period late.
        write(ALARM + RELOAD, 0);
        write(ALARM + VALUE, left.clamp(SOONEST, u64::from(u32::MAX)) as u32);
        write(ALARM + CONTROL, ON);
    }
}

impl Driver for Cmsdk {
    fn now(&self) -> u64 {
        critical_section::with(|section| self.cycles(section)) / CYCLES_PER_TICK
    }

    fn schedule_wake(&self, at: u64, waker: &Waker) {
        critical_section::with(|section| {
            let mut queue = self.queue.borrow(section).borrow_mut();
            if queue.schedule_wake(at, waker) {
                self.set_alarm(section, &mut queue);
            }
        });
    }
}
