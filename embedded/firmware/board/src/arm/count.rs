//! Counts instructions: under `-icount shift=0` each takes a nanosecond, measured by SysTick.

use cortex_m::peripheral::{SYST, syst::SystClkSource};

/// SysTick's clock: 16 MHz on the micro:bit, 25 MHz on the MPS2.
const HZ: u64 = if cfg!(target_abi = "eabihf") { 25_000_000 } else { 16_000_000 };
/// SysTick has 24 bits and counts down.
const MOST: u32 = 0xFF_FFFF;

pub fn start() {
    // SAFETY: nothing else on this board uses SysTick.
    let mut systick = unsafe { cortex_m::Peripherals::steal() }.SYST;
    systick.set_clock_source(SystClkSource::Core);
    systick.set_reload(MOST);
    systick.clear_current();
    systick.enable_counter();
    while SYST::get_current() == 0 {} // reads 0 until the first period begins
}

/// The number of instructions of `work`, to within some dozens. It must be below 600 million.
pub fn of(work: impl FnOnce()) -> u64 {
    let before = SYST::get_current();
    work();
    let after = SYST::get_current();
    u64::from(before.wrapping_sub(after) & MOST) * 1_000_000_000 / HZ
}
