//! A throttle with `adaptive` that reads the common dialects of HTTP.
#![no_std]
#![no_main]

use core::hint::black_box;
use core::pin::pin;
use core::task::{Context, Poll};

use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use tidegate::law::Adaptive;
use tidegate::signal::http::Reading;
use tidegate::{Policy, Rng};
use tidegate_embassy::{Rejection, Throttle};
use tidegate_size::board;

static UPLINK: Throttle<CriticalSectionRawMutex, Adaptive> = Throttle::new();

/// The response of an HTTP client.
pub struct Response {
    status: u16,
    headers: &'static [(&'static str, &'static [u8])],
}

#[unsafe(no_mangle)]
pub static ROOTS: fn(fn() -> Response, &mut Context<'_>) -> Poll<Result<(), Rejection>> =
    |post, context| {
        UPLINK.start(const { &Policy::adaptive() }, Rng::from_entropy(board::seed()));
        let call = UPLINK.run_with(async |reply| {
            let response = post();
            let mut reading = Reading::common(response.status);
            for (name, value) in response.headers {
                reading.header(name, value);
            }
            *reply = reading.reply(None);
        });
        // It may be suspended at any of its awaits.
        black_box(pin!(call)).as_mut().poll(context)
    };

tidegate_size::allow_panics!();
