//! QEMU's riscv32 virt machine.

#[cfg(feature = "net")]
#[path = "riscv/virtio.rs"]
pub(crate) mod card;
#[cfg(feature = "time")]
mod clint;
pub mod count;

#[cfg(feature = "time")]
pub(crate) use riscv::asm::wfi;

use crate::register::write;
use crate::{Trouble, fail};

/// The device that stops or resets the machine.
const FINISHER: usize = 0x0010_0000;
const RESTART: u32 = 0x7777;

/// Resets the machine. All memory except [`retained`](crate::retained) is as after power-on.
pub fn reset() -> ! {
    write(FINISHER, RESTART);
    loop {
        core::hint::spin_loop();
    }
}

#[cfg(feature = "time")]
pub(crate) fn start_clock() {
    clint::start();
    // SAFETY: this does not end a critical section.
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
