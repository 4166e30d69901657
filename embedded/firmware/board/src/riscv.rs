//! QEMU's riscv32 virt machine.

#[cfg(feature = "net")]
#[path = "riscv/virtio.rs"]
pub(crate) mod card;
#[cfg(feature = "time")]
mod clint;
pub mod count;

use crate::register::write;
use crate::{Trouble, fail};

/// The device by which a program ends or restarts the machine.
const FINISHER: usize = 0x0010_0000;
const RESTART: u32 = 0x7777;

/// Begins anew: all memory but [`retained`](crate::retained) is as after power has come.
pub fn reset() -> ! {
    write(FINISHER, RESTART);
    loop {
        core::hint::spin_loop();
    }
}

#[cfg(feature = "time")]
pub(crate) fn start_clock() {
    clint::start();
    // SAFETY: this is no critical section of anybody's.
    unsafe { riscv::interrupt::enable() };
}

/// Sleeps until an interrupt comes, unless `busy`, which is asked with interrupts off: one that
/// comes behind the question ends the sleep at once.
#[cfg(feature = "time")]
pub(crate) fn idle_unless(busy: impl FnOnce() -> bool) {
    riscv::interrupt::disable();
    if !busy() {
        riscv::asm::wfi();
    }
    // SAFETY: as above.
    unsafe { riscv::interrupt::enable() };
}

#[unsafe(export_name = "ExceptionHandler")]
fn on_exception(_: &riscv_rt::TrapFrame) -> ! {
    fail(Trouble::Fault)
}

#[unsafe(export_name = "DefaultHandler")]
fn on_interrupt() {
    fail(Trouble::Interrupt)
}
