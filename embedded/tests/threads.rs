//! Real concurrent threads: no wake-up is lost.
#![allow(clippy::std_instead_of_core, clippy::unwrap_used, reason = "this is not firmware")]

use core::num::NonZeroU16;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_time::Timer;
use futures_executor::block_on;
use tidegate::law::Fixed;
use tidegate::{Outcome, Policy, Quota};
use tidegate_embassy::Throttle;

#[test]
fn eight_threads_share_two_places_and_all_end() {
    let quota = Quota::per_second(2_000).unwrap();
    let concurrency = NonZeroU16::new(2).unwrap();
    let policy = Policy::new(Fixed::new(quota)).concurrency(concurrency);
    let throttle: Throttle<CriticalSectionRawMutex, Fixed, 8> =
        Throttle::seeded(Box::leak(Box::new(policy)), 7);
    let at_once = AtomicU32::new(0);
    let work = async || {
        assert!(at_once.fetch_add(1, Ordering::SeqCst) < 2, "three calls are in flight");
        Timer::after_micros(200).await;
        at_once.fetch_sub(1, Ordering::SeqCst);
        Outcome::Ok
    };
    thread::scope(|scope| {
        for number in 0..8 {
            let (throttle, work) = (&throttle, &work);
            scope.spawn(move || {
                for call in 0..50 {
                    if (number + call) % 5 == 0 {
                        // Some cancel their call.
                        block_on(async { drop(throttle.acquire().await) });
                    } else {
                        assert_eq!(block_on(throttle.run(work)), Ok(Outcome::Ok));
                    }
                }
            });
        }
    });
    let stats = throttle.stats();
    assert_eq!((stats.ok, stats.abandoned), (320, 80));
    assert_eq!((throttle.in_flight(), throttle.waiting()), (0, 0));
}
