//! An executor that lets the core sleep until an interrupt comes.
//!
//! embassy's own for Cortex-M sleeps in WFE, which QEMU runs as a busy loop; asleep in WFI, the
//! machine's clock can jump to the next alarm (`-icount sleep=off`), and an hour takes a second.

use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicBool, Ordering};

use embassy_executor::{Spawner, raw};

use crate::machine;

static WORK: AtomicBool = AtomicBool::new(false);

/// Told by embassy that a task has something to do.
#[unsafe(export_name = "__pender")]
fn pend(_: *mut ()) {
    WORK.store(true, Ordering::SeqCst);
}

/// Starts the clock, and runs what `init` spawns. To be called once, by `main`.
pub fn run(init: impl FnOnce(Spawner)) -> ! {
    static mut EXECUTOR: MaybeUninit<raw::Executor> = MaybeUninit::uninit();
    machine::start_clock();
    let place = &raw mut EXECUTOR;
    // SAFETY: only here is it touched, and this function is called once.
    let executor: &'static raw::Executor =
        unsafe { (*place).write(raw::Executor::new(core::ptr::null_mut())) };
    init(executor.spawner());
    loop {
        // SAFETY: it is initialised, and polled from nowhere else.
        unsafe { executor.poll() };
        machine::idle_unless(|| {
            // Not `swap`: thumbv6m has no atomic exchange. No interrupt comes in between.
            let work = WORK.load(Ordering::SeqCst);
            WORK.store(false, Ordering::SeqCst);
            work
        });
    }
}
