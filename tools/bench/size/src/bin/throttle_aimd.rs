//! A throttle with `aimd` that only reads the outcome.
#![no_std]
#![no_main]

use core::hint::black_box;
use core::pin::pin;
use core::task::{Context, Poll};

use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use tidegate::law::Aimd;
use tidegate::{Outcome, Policy};
use tidegate_embassy::{Rejection, Throttle};
use tidegate_size::board;

static UPLINK: Throttle<CriticalSectionRawMutex, Aimd> = Throttle::new();

#[unsafe(no_mangle)]
pub static ROOTS: fn(fn() -> Outcome, &mut Context<'_>) -> Poll<Result<Outcome, Rejection>> =
    |publish, context| {
        UPLINK.start(const { &Policy::new(Aimd::DEFAULT) }, board::seed());
        let call = UPLINK.run(async || publish());
        // It may be suspended at any of its awaits.
        black_box(pin!(call)).as_mut().poll(context)
    };

/// Every `async` block panics if it is polled after completion. That never happens, but the linker
/// cannot know.
#[unsafe(no_mangle)]
extern "C" fn a_panic_is_reachable() -> ! {
    loop {}
}
