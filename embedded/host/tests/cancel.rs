//! A task can be dropped at any await without leaving a call in flight, a place in the queue or a
//! waker.

use proptest::prelude::*;
use tidegate::backoff::Backoff;
use tidegate_embassy_host::*;

type Uplink = Throttle<NoopRawMutex, Fixed, 8>;

/// Ten a second, two at a time, and a backoff between attempts.
fn uplink() -> Uplink {
    throttle_of(policy().backoff(Some(Backoff::DEFAULT)))
}

/// Makes five calls of 300 ms each. Six of these keep the concurrency limit full.
async fn other(uplink: &Uplink, served: &Cell<u32>) {
    for _ in 0..5 {
        let work = async || {
            Timer::after_millis(300).await;
            Outcome::Ok
        };
        assert_eq!(uplink.run(work).await, Ok(Outcome::Ok));
        served.set(served.get() + 1);
    }
}

/// Runs `victim` with six others, and drops it after this many polls. Returns whether it had ended
/// before.
fn ends_within(polls: u64, victim: impl AsyncFn(&Uplink)) -> bool {
    let time = Time::begin();
    let uplink = uplink();
    let served = Cell::new(0);
    let mut tasks = Tasks::new();
    for _ in 0..6 {
        tasks.spawn(other(&uplink, &served));
    }
    let number = tasks.spawn(victim(&uplink));
    let has_ended = tasks.run_dropping(&time, number, polls);
    assert_eq!(served.get(), 30, "dropped after {polls} polls");
    assert_eq!(uplink.in_flight(), 0, "dropped after {polls} polls, a call is in flight");
    assert_eq!(uplink.waiting(), 0, "dropped after {polls} polls, a place is occupied");
    let stats = uplink.stats();
    assert_eq!(stats.admitted, stats.settled() + stats.abandoned, "dropped after {polls} polls");
    has_ended
}

/// Drops `victim` after every number of polls up to its end. Returns that number.
fn at_every_await(victim: impl AsyncFn(&Uplink)) -> u64 {
    (0..10_000).find(|polls| ends_within(*polls, &victim)).expect("it ends")
}

#[test]
fn a_permit_can_be_dropped_while_waiting_or_held() {
    let polls = at_every_await(async |uplink| {
        let permit = uplink.acquire().await.unwrap();
        next_poll().await;
        Timer::after_millis(400).await;
        permit.settle(Outcome::Ok);
        next_poll().await;
    });
    assert!(polls >= 5, "{polls}");
}

#[test]
fn a_call_that_fails_twice_and_is_also_polled_for_other_reasons_can_be_dropped() {
    let polls = at_every_await(async |uplink| {
        let calls = async {
            let mut next = failing(2);
            let work = async || {
                next_poll().await;
                Timer::after_millis(30).await;
                next()
            };
            assert_eq!(uplink.run(work).await, Ok(Outcome::Ok));
        };
        let ticks = async {
            loop {
                Timer::after_millis(17).await;
            }
        };
        select(calls, ticks).await;
    });
    assert!(polls >= 40, "{polls}");
}

#[test]
fn a_call_whose_deadline_passes_can_be_dropped() {
    let polls = at_every_await(async |uplink| {
        let late = uplink.with_timeout(Duration::from_millis(700));
        _ = late.run(async || Timer::after_secs(3_600).await).await;
        _ = uplink.with_timeout(Duration::from_secs(1)).acquire().await;
    });
    assert!(polls >= 3, "{polls}");
}

/// Room for two keys, while three are called.
type Apis = KeyedThrottle<NoopRawMutex, u8, Fixed, 2, 8>;

/// Calls two keys alternately with a retry each time, and again after their eviction.
async fn wanderer(apis: &Apis, served: &Cell<u32>, first: u8) {
    for round in 0..5 {
        let mut next = failing(1);
        let work = async || {
            Timer::after_millis(150).await;
            next()
        };
        assert_eq!(apis.call((first + round) % 3).run(work).await, Ok(Outcome::Ok));
        served.set(served.get() + 1);
    }
}

/// Runs a victim with five others whose keys evict each other, and drops it after this many polls.
/// Returns whether it had ended before.
fn ends_among_keys_within(polls: u64) -> bool {
    let time = Time::begin();
    let policy = policy().concurrency(NonZeroU16::MAX).backoff(Some(Backoff::DEFAULT));
    let apis = Apis::seeded(leak(policy), 7);
    let served = Cell::new(0);
    let mut tasks = Tasks::new();
    let number = tasks.spawn(async {
        for key in [0, 1, 2, 0] {
            let call = apis.call(key).with_timeout(Duration::from_millis(900));
            let work = async || {
                Timer::after_millis(200).await;
                Outcome::Failed
            };
            _ = call.run(work).await;
            _ = apis.call(key).with_timeout(Duration::from_millis(300)).acquire().await;
        }
    });
    for first in 0..5 {
        tasks.spawn(wanderer(&apis, &served, first % 3));
    }
    let has_ended = tasks.run_dropping(&time, number, polls);
    assert!(apis.evicted() > 0);
    assert_eq!(served.get(), 25, "dropped after {polls} polls");
    assert_eq!(apis.waiting(), 0, "dropped after {polls} polls, a place is occupied");
    has_ended
}

#[test]
fn a_call_of_an_evicted_key_can_be_dropped() {
    let polls = (0..10_000).find(|polls| ends_among_keys_within(*polls));
    assert!(polls.is_some_and(|polls| polls >= 10), "{polls:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_task_dropped_at_any_await_does_not_affect_the_order_of_others(
        victims in prop::collection::vec((0..2_000u64, 0..2_000u64, 0..400u64), 1..6),
        stayers in prop::collection::vec((0..2_000u64, 0..400u64), 1..4),
    ) {
        let time = Time::begin();
        let uplink = uplink();
        let order = RefCell::new(Vec::new());
        let mut tasks = Tasks::new();
        for (number, (comes, works)) in stayers.iter().copied().enumerate() {
            let (uplink, order) = (&uplink, &order);
            tasks.spawn(async move {
                Timer::after_millis(comes).await;
                let permit = uplink.acquire().await.unwrap();
                order.borrow_mut().push(number);
                Timer::after_millis(works).await;
                permit.settle(Outcome::Ok);
            });
        }
        for (comes, stays, works) in victims {
            let uplink = &uplink;
            tasks.spawn(async move {
                Timer::after_millis(comes).await;
                let call = uplink.run(async || {
                    Timer::after_millis(works).await;
                    Outcome::Failed
                });
                select(call, Timer::after_millis(stays)).await;
            });
        }
        tasks.run(&time, far());
        prop_assert_eq!(tasks.left(), 0);
        prop_assert_eq!((uplink.in_flight(), uplink.waiting()), (0, 0));
        let stats = uplink.stats();
        prop_assert_eq!(stats.admitted, stats.settled() + stats.abandoned);
        let came: Vec<u64> = order.borrow().iter().map(|number| stayers[*number].0).collect();
        prop_assert!(came.is_sorted(), "{came:?}");
    }
}
