//! The Cortex-M boards.

#[cfg(feature = "net")]
#[path = "arm/lan9118.rs"]
pub(crate) mod card;
#[cfg(feature = "time")]
mod cmsdk;
pub mod count;

#[cfg(feature = "time")]
pub(crate) use cmsdk::start as start_clock;
#[cfg(feature = "time")]
pub(crate) use cortex_m::asm::wfi;
use cortex_m_rt::{ExceptionFrame, exception};

use crate::{Trouble, fail};

/// Resets the machine. All memory except [`retained`](crate::retained) is as after power-on.
pub fn reset() -> ! {
    cortex_m::peripheral::SCB::sys_reset()
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
