//! An executor that lets the core sleep until an interrupt.
//!
//! embassy's executor for Cortex-M sleeps with WFE, which QEMU runs as a busy loop. With WFI the
//! machine's clock can jump to the next alarm (`-icount sleep=off`), and an hour takes a second.

use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicBool, Ordering};

use embassy_executor::{Spawner, raw};

use crate::machine;

static WORK: AtomicBool = AtomicBool::new(false);

/// embassy calls this when a task is ready.
#[unsafe(export_name = "__pender")]
fn pend(_: *mut ()) {
    WORK.store(true, Ordering::SeqCst);
}

/// Starts the clock, and runs what `init` spawns. Call it once, from `main`.
pub fn run(init: impl FnOnce(Spawner)) -> ! {
    static mut EXECUTOR: MaybeUninit<raw::Executor> = MaybeUninit::uninit();
    machine::start_clock();
    let place = &raw mut EXECUTOR;
    // SAFETY: it is only accessed here, and this function is called once.
    let executor: &'static raw::Executor =
        unsafe { (*place).write(raw::Executor::new(core::ptr::null_mut())) };
    init(executor.spawner());
    loop {
        // SAFETY: it is initialised, and polled only here.
        unsafe { executor.poll() };
        // A pending interrupt ends the sleep immediately, and is served after the critical section.
        critical_section::with(|_| {
            if !WORK.load(Ordering::SeqCst) {
                machine::wfi();
            }
            WORK.store(false, Ordering::SeqCst);
        });
    }
}
