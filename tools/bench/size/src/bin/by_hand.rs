//! What firmware writes by hand: a known delay between calls of all tasks, a cooldown, and a backoff that doubles. It
//! has no jitter, no deadline, no queue and no limit of calls in flight.
#![no_std]
#![no_main]

use core::hint::black_box;
use core::pin::pin;
use core::task::{Context, Poll};

use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::mutex::Mutex;
use embassy_time::{Duration, Instant, Timer};
use tidegate_size as _;

static NEXT: Mutex<CriticalSectionRawMutex, Instant> = Mutex::new(Instant::from_ticks(0));

pub enum Answer {
    Served,
    /// For this many seconds.
    Throttled(u32),
    Failed,
}

#[unsafe(no_mangle)]
pub static ROOTS: fn(fn() -> Answer, &mut Context<'_>) -> Poll<bool> =
    |post, context| black_box(pin!(send(post))).as_mut().poll(context);

async fn send(post: fn() -> Answer) -> bool {
    let mut delay = Duration::from_millis(500);
    for _ in 0..10 {
        let mut next = NEXT.lock().await;
        Timer::at(*next).await;
        *next = Instant::now().saturating_add(Duration::from_millis(100));
        drop(next);
        match post() {
            Answer::Served => return true,
            Answer::Throttled(secs) => {
                let until = Instant::now().saturating_add(Duration::from_secs(secs.into()));
                let mut next = NEXT.lock().await;
                *next = until.max(*next);
            }
            Answer::Failed => {
                Timer::after(delay).await;
                delay = (delay * 2).min(Duration::from_secs(60));
            }
        }
    }
    false
}

tidegate_size::allow_panics!();
