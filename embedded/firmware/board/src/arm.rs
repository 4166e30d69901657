//! The Cortex-M boards.

#[cfg(feature = "net")]
#[path = "arm/lan9118.rs"]
pub(crate) mod card;
#[cfg(feature = "time")]
mod cmsdk;
pub mod count;

use cortex_m_rt::{ExceptionFrame, exception};

use crate::{Trouble, fail};

/// Resets the machine. All memory except [`retained`](crate::retained) is as after power-on.
pub fn reset() -> ! {
    cortex_m::peripheral::SCB::sys_reset()
}

#[cfg(feature = "time")]
pub(crate) fn start_clock() {
    cmsdk::start();
}

/// Sleeps until an interrupt, unless `busy`, which is called with interrupts off. An interrupt
/// after that ends the sleep immediately.
#[cfg(feature = "time")]
pub(crate) fn idle_unless(busy: impl FnOnce() -> bool) {
    cortex_m::interrupt::disable();
    if !busy() {
        cortex_m::asm::wfi();
    }
    // SAFETY: this does not end a critical section.
    unsafe { cortex_m::interrupt::enable() };
}

#[exception]
unsafe fn HardFault(_: &ExceptionFrame) -> ! {
    fail(Trouble::Fault)
}

#[exception]
unsafe fn DefaultHandler(interrupt: i16) {
    match interrupt {
        #[cfg(feature = "time")]
        8 | 9 => cmsdk::on_interrupt(),
        #[cfg(feature = "net")]
        card::INTERRUPT => card::on_interrupt(),
        _ => fail(Trouble::Interrupt),
    }
}
