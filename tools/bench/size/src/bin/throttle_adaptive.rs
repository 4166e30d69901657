//! A throttle with `adaptive` that reads what an HTTP server says of its limit in the common dialects.
#![no_std]
#![no_main]

use core::hint::black_box;
use core::pin::pin;
use core::task::{Context, Poll};

use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use tidegate::law::Adaptive;
use tidegate::signal::http::CommonReading;
use tidegate::{Policy, Reply};
use tidegate_embassy::{Rejection, Throttle};
use tidegate_size::board;

static UPLINK: Throttle<CriticalSectionRawMutex, Adaptive> =
    Throttle::new(&Policy::adaptive(), board::seed);

/// What an HTTP client hands over.
pub struct Response {
    status: u16,
    headers: &'static [(&'static str, &'static [u8])],
}

#[unsafe(no_mangle)]
pub static ROOTS: fn(fn() -> Response, &mut Context<'_>) -> Poll<Result<Reply, Rejection>> =
    |post, context| {
        let call = UPLINK.run(async || {
            let response = post();
            let mut reading = CommonReading::new(response.status);
            for (name, value) in response.headers {
                reading.header(name, value);
            }
            reading.finish(None)
        });
        // It may stand at any of its awaits.
        black_box(pin!(call)).as_mut().poll(context)
    };

/// The compiler lets every `async` block panic that is polled after its end. Nobody does, but the
/// linker cannot know.
#[unsafe(no_mangle)]
extern "C" fn a_panic_is_reachable() -> ! {
    loop {}
}
