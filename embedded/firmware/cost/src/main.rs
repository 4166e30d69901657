//! Measures the cost of a decision on a microcontroller: instructions and stack depth.
//!
//! It runs under `-icount shift=0`, where each instruction takes a nanosecond of the board's clock.
#![no_std]
#![no_main]

mod client;
mod meter;
mod server;

use board::count;
use client::Client;
use meter::Meters;
use server::{Bucket, Period, Server};
use tidegate::law::{Aimd, Fixed, Law};
use tidegate::{Outcome, Policy, Quota};

/// Calls for warm-up, until a law reaches its steady state.
const WARMING: u32 = 300;
const MEASURED: u32 = 2_000;

/// Runs a client against a server, and logs the cost of each function.
fn measure<L: Law + Copy>(name: &str, policy: Policy<L>, mut server: impl Server) {
    let mut client = Client::new(policy.backoff(None));
    let mut meters = Meters::new();
    for call in 0..WARMING + MEASURED {
        if call == WARMING {
            meters = Meters::new();
        }
        client.call(&mut server, &mut meters);
    }
    meters.tell(name);
}

#[unsafe(no_mangle)]
extern "C" fn main() -> ! {
    count::start();
    let adaptive = Policy::adaptive();
    measure("adaptive, no throttled call yet", adaptive, |_| Outcome::Ok.into());
    measure("adaptive, throttled calls are all that is known", adaptive, Bucket::silent(4));
    measure("adaptive, told what is left", adaptive, Bucket::telling(60));
    measure("adaptive, told what is left and until when", adaptive, Period::new());
    measure(
        "aimd, throttled calls are all that is known",
        Policy::new(Aimd::DEFAULT),
        Bucket::silent(4),
    );
    match Quota::per_second(10) {
        Ok(ten) => measure("fixed", Policy::new(Fixed::new(ten)), Bucket::silent(4)),
        Err(_) => board::fail(board::Trouble::Wrong),
    }
    board::done()
}
