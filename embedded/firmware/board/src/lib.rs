//! The emulated boards that the images run on: memory, clock, network, log and exit code.
//!
//! The target selects the board, which QEMU emulates:
//!
//! | target | machine |
//! |---|---|
//! | `thumbv6m-none-eabi` | `microbit`, a Cortex-M0 |
//! | `thumbv7em-none-eabihf` | `mps2-an386`, a Cortex-M4F with a LAN9118 |
//! | `riscv32…` | `virt`, with virtio-net |
//!
//! The drivers support only these emulated devices. The log uses semihosting, so nothing else may
//! be printed.
#![no_std]

#[cfg(target_arch = "arm")]
mod arm;
#[cfg(target_arch = "arm")]
use arm as machine;
#[cfg(target_arch = "riscv32")]
mod riscv;
#[cfg(target_arch = "riscv32")]
use riscv as machine;

#[cfg(feature = "net")]
mod card;
#[cfg(feature = "time")]
mod executor;
#[cfg(feature = "net")]
pub mod net;
#[cfg(any(feature = "time", target_arch = "riscv32"))]
mod register;
pub mod retained;
pub mod stack;

use defmt_semihosting as _;

#[cfg(feature = "time")]
pub use executor::run;
pub use machine::{count, reset};

#[derive(Clone, Copy, Debug)]
#[repr(u8)]
pub enum Trouble {
    /// A check failed. The log says which.
    Wrong = 1,
    /// The image panicked. The log says where.
    Panic = 101,
    /// The processor stopped at an instruction.
    Fault = 102,
    Interrupt = 103,
}

/// Stops the machine with exit code 0.
pub fn done() -> ! {
    semihosting::process::exit(0)
}

pub fn fail(trouble: Trouble) -> ! {
    semihosting::process::exit(i32::from(trouble as u8))
}

#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    defmt::error!("{}", defmt::Display2Format(info));
    fail(Trouble::Panic)
}

/// A panic of the log itself, which has already printed the reason.
#[defmt::panic_handler]
fn panic_of_the_log() -> ! {
    fail(Trouble::Panic)
}
