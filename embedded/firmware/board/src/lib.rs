//! The emulated boards that the images run on: memory, clock, network, log and exit code.
//!
//! The target chooses the board, and QEMU emulates it:
//!
//! | target | machine |
//! |---|---|
//! | `thumbv6m-none-eabi` | `microbit`, a Cortex-M0 |
//! | `thumbv7em-none-eabihf` | `mps2-an386`, a Cortex-M4F with a LAN9118 |
//! | `riscv32…` | `virt`, with virtio-net |
//!
//! The drivers are for these machines only: they do what QEMU's devices need and no more. The log
//! leaves through semihosting, where nothing else may be printed.
#![no_std]

#[cfg(target_arch = "arm")]
mod arm;
#[cfg(target_arch = "arm")]
use arm as machine;
#[cfg(target_arch = "riscv32")]
mod riscv;
#[cfg(target_arch = "riscv32")]
use riscv as machine;

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

/// How an image that fails ends.
#[derive(Clone, Copy, Debug)]
#[repr(u8)]
pub enum Trouble {
    /// It has seen what must not be; the log says what.
    Wrong = 1,
    /// It has panicked; the log says where.
    Panic = 101,
    /// The processor has stopped at an instruction.
    Fault = 102,
    /// An interrupt came that nobody waits for.
    Interrupt = 103,
}

/// Ends the machine, and QEMU with exit code 0.
pub fn done() -> ! {
    semihosting::process::exit(0)
}

/// Ends the machine, and QEMU with the exit code of this trouble.
pub fn fail(trouble: Trouble) -> ! {
    semihosting::process::exit(i32::from(trouble as u8))
}

#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    defmt::error!("{}", defmt::Display2Format(info));
    fail(Trouble::Panic)
}

/// A panic of the log itself: it has told why.
#[defmt::panic_handler]
fn panic_that_is_told() -> ! {
    fail(Trouble::Panic)
}
