//! A task whose call always fails beside a task whose calls are served.

use std::cell::Cell;

use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_time::{Duration, Instant, Timer};
use tidegate::law::Adaptive;
use tidegate::{Outcome, Policy};
use tidegate_embassy::Throttle;
use tidegate_embassy_host::{Tasks, Time, leak};

#[test]
fn a_task_whose_call_always_fails_stops_no_other_task() {
    let time = Time::begin();
    for outcome in [Outcome::Failed, Outcome::Busy, Outcome::Throttled] {
        let throttle: Throttle<NoopRawMutex, Adaptive> =
            Throttle::seeded(leak(Policy::adaptive()), 7);
        let (begun, served) = (Instant::now(), Cell::new(0_u32));
        let mut tasks = Tasks::new();
        tasks.spawn(async {
            loop {
                _ = throttle.run(async || outcome).await;
                Timer::after_millis(100).await;
            }
        });
        tasks.spawn(async {
            for call in 0..100 {
                Timer::at(begun + Duration::from_millis(100 * call)).await;
                let timely = throttle.with_timeout(Duration::from_secs(5));
                served.set(
                    served.get()
                        + u32::from(timely.run(async || Outcome::Ok).await == Ok(Outcome::Ok)),
                );
            }
        });
        tasks.run(&time, begun + Duration::from_secs(20));
        assert!(served.get() >= 99, "{} of 100 served, {outcome:?}", served.get());
    }
}
