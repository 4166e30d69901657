//! Counts instructions: the processor does it itself, and exactly under `-icount shift=0`.

/// Starts counting: the counter always runs.
pub fn start() {}

/// Instructions that `work` takes.
pub fn of(work: impl FnOnce()) -> u64 {
    let before = riscv::register::minstret::read64();
    work();
    riscv::register::minstret::read64() - before
}
