//! A task whose call always fails beside a task whose calls are served.

use tidegate_embassy_host::*;

#[test]
fn a_task_whose_call_always_fails_stops_no_other_task() {
    let time = Time::begin();
    for outcome in [Outcome::Failed, Outcome::Busy, Outcome::Throttled] {
        let throttle = throttle_of::<_, 4>(Policy::adaptive());
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
                let is_served = timely.run(async || Outcome::Ok).await == Ok(Outcome::Ok);
                served.set(served.get() + u32::from(is_served));
            }
        });
        tasks.run(&time, begun + Duration::from_secs(20));
        assert!(served.get() >= 99, "{} of 100 served, {outcome:?}", served.get());
    }
}
