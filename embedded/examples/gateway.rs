//! A gateway on Linux: readings are posted every second, alarms are sent first, and the server
//! accepts two calls per second.
//!
//! `cargo run --package tidegate-embassy --example gateway --features stats`
#![allow(clippy::std_instead_of_core, reason = "this is not firmware")]

use std::sync::atomic::{AtomicU32, Ordering};

use embassy_executor::Spawner;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_time::{Duration, Timer};
use tidegate::{Hint, Outcome, Policy, Reply, Span, law::Adaptive};
use tidegate_embassy::Throttle;

static UPLINK: Throttle<CriticalSectionRawMutex, Adaptive, 8> = Throttle::new();

/// A random number from the system, through the standard library.
fn seed() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(std::process::id())
}

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    UPLINK.start(const { &Policy::adaptive() }, seed());
    for sensor in 0..3 {
        if let Ok(task) = read(sensor) {
            spawner.spawn(task);
        }
    }
    Timer::after_secs(3).await;
    let alarm = UPLINK.call().with_priority(7).done_within(Duration::from_secs(10));
    println!("alarm: {:?}", alarm.run(async || post("alarm").await).await);
    let stats = UPLINK.stats();
    println!("{} served, {} throttled", stats.ok, stats.throttled);
    std::process::exit(0)
}

#[embassy_executor::task(pool_size = 3)]
async fn read(sensor: u8) {
    loop {
        let call = UPLINK.with_timeout(Duration::from_secs(5));
        match call.run(async || post("21.5").await).await {
            Ok(reply) => println!("sensor {sensor}: {:?}", reply.outcome),
            Err(rejection) => println!("sensor {sensor} is not sent: {rejection}"),
        }
        Timer::after_secs(1).await;
    }
}

/// Replaces an HTTP client: a server that accepts four calls at once, then two per second.
async fn post(_: &str) -> Reply {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    Timer::after_millis(50).await;
    match CALLS.fetch_add(1, Ordering::Relaxed) % 5 {
        4 => Outcome::Throttled.with(Hint::retry_after(Span::from_secs(1))),
        _ => Outcome::Ok.into(),
    }
}
