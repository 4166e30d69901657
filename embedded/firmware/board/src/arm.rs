//! The Cortex-M boards.

#[cfg(feature = "net")]
#[path = "arm/lan9118.rs"]
pub(crate) mod card;
#[cfg(feature = "time")]
mod cmsdk;
pub mod count;

use cortex_m_rt::{ExceptionFrame, exception};

use crate::{Trouble, fail};

/// Begins anew: all memory but [`retained`](crate::retained) is as after power has come.
pub fn reset() -> ! {
    cortex_m::peripheral::SCB::sys_reset()
}

#[cfg(feature = "time")]
pub(crate) fn start_clock() {
    cmsdk::start();
}

/// Sleeps until an interrupt comes, unless `busy`, which is asked with interrupts off: one that
/// comes behind the question ends the sleep at once.
#[cfg(feature = "time")]
pub(crate) fn idle_unless(busy: impl FnOnce() -> bool) {
    cortex_m::interrupt::disable();
    if !busy() {
        cortex_m::asm::wfi();
    }
    // SAFETY: this is no critical section of anybody's.
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
