//! Sleeps that stop the timer: the throttle decides as if the clock had run.

use proptest::prelude::*;
use tidegate_embassy::Permit;
use tidegate_embassy_host::*;

type Uplink = Throttle<NoopRawMutex, Adaptive, 8>;

#[derive(Clone, Copy, Debug)]
enum Step {
    /// A task waits for a permit, for so many seconds at most.
    Wait(u64),
    /// The oldest call in flight has this response, and perhaps a `Retry-After` in seconds.
    Settle(Outcome, Option<u64>),
    Pass(u64),
    /// Nothing runs for so many seconds.
    Sleep(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let outcome = prop::sample::select(vec![Outcome::Ok, Outcome::Throttled, Outcome::Failed]);
    let step = prop_oneof![
        4 => (1..2_000_u64).prop_map(Step::Wait),
        4 => (outcome, prop::option::of(1..1_000_u64)).prop_map(|(outcome, wait)| Step::Settle(outcome, wait)),
        1 => (1..100_u64).prop_map(Step::Pass),
        1 => (1..1_000_u64).prop_map(Step::Sleep),
    ];
    prop::collection::vec(step, 1..60)
}

/// What happens, with the real time in ticks, and the record at the end.
fn life(steps: &[Step], clock_stops: bool) -> (Vec<(u64, String)>, [u8; Uplink::RECORD_BYTES]) {
    let time = Time::begin();
    let uplink = Uplink::seeded(const { &Policy::adaptive() }, 7);
    // The second one sleeps with its record, and the others with their state.
    let sessions = [(); 2].map(|()| Sessions::<NoopRawMutex>::new(|| 7));
    let (log, in_flight) =
        (RefCell::new(Vec::new()), RefCell::new(Vec::<Permit<'_, Uplink>>::new()));
    let stood_still = Cell::new(Duration::from_ticks(0));
    let note = &|what: String| {
        log.borrow_mut().push(((Instant::now() + stood_still.get()).as_ticks(), what));
    };
    let mut tasks = Tasks::new();
    for (number, sessions) in sessions.iter().enumerate() {
        tasks.spawn(async move {
            loop {
                drop(sessions.connect().await);
                note(format!("connects {number}"));
            }
        });
    }
    for (number, step) in steps.iter().enumerate() {
        match *step {
            Step::Wait(secs) => {
                let call = uplink.with_timeout(Duration::from_secs(secs));
                let in_flight = &in_flight;
                tasks.spawn(async move {
                    match call.acquire().await {
                        Ok(permit) => {
                            note(format!("{number} is sent"));
                            in_flight.borrow_mut().push(permit);
                        }
                        Err(Rejection::Late(at)) => {
                            note(format!(
                                "{number} is late by {}",
                                (at - Instant::now()).as_ticks()
                            ));
                        }
                        Err(rejection) => note(format!("{number}: {rejection}")),
                    }
                });
            }
            Step::Settle(outcome, wait) => {
                let mut in_flight = in_flight.borrow_mut();
                if !in_flight.is_empty() {
                    let hint =
                        wait.map_or(Hint::NONE, |wait| Hint::retry_after(Span::from_secs(wait)));
                    let reply: Reply = outcome.with(hint);
                    in_flight.remove(0).settle(reply);
                }
            }
            Step::Pass(secs) => tasks.run(&time, Instant::now() + Duration::from_secs(secs)),
            Step::Sleep(secs) => {
                let none = Duration::from_ticks(0);
                let (ran, slept) = match clock_stops {
                    true => (none, Duration::from_secs(secs)),
                    false => (Duration::from_secs(secs), none),
                };
                time.pass(ran);
                stood_still.set(stood_still.get() + slept);
                // Also if the clock ran, because this wakes the tasks.
                uplink.slept(slept);
                sessions[0].slept(slept);
                let mut record = [0; Sessions::<NoopRawMutex>::RECORD_BYTES];
                sessions[1].record(&mut record).unwrap();
                sessions[1].wake_up(&record, slept).unwrap();
            }
        }
        while tasks.turn() {}
        let wait = uplink.next_at().map(|at| at.saturating_duration_since(Instant::now()));
        note(format!("{wait:?}, {:?}, {:?}", uplink.why(), uplink.interval()));
    }
    let mut record = [0; Uplink::RECORD_BYTES];
    uplink.record(&mut record).unwrap();
    drop(tasks);
    (log.take(), record)
}

proptest! {
    #[test]
    fn after_a_sleep_that_stopped_the_clock_all_is_as_if_it_had_run(steps in steps()) {
        let (ran, stopped) = (life(&steps, false), life(&steps, true));
        for (ran, stopped) in ran.0.iter().zip(&stopped.0) {
            prop_assert_eq!(ran, stopped);
        }
        prop_assert_eq!(ran, stopped);
    }
}
