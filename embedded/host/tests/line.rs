//! The queue: first come, first served, and a task that leaves frees its place.

use core::future::Future;
use core::num::NonZeroU16;
use core::pin::pin;
use core::task::{Context, Waker};
use std::cell::{Cell, RefCell};

use embassy_futures::join::join;
use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_time::{Duration, Instant, Timer};
use tidegate::law::{Adaptive, Fixed};
use tidegate::{Hint, Outcome, Policy, Quota, Span};
use tidegate_embassy::{Rejection, Throttle};
use tidegate_embassy_host::{Tasks, Time, due, far, leak, policy, throttle};

#[test]
fn sixteen_tasks_take_turns_for_a_thousand_rounds() {
    let time = Time::begin();
    let throttle = throttle::<16>();
    let order = RefCell::new(Vec::new());
    let mut tasks = Tasks::new();
    for number in 0..16 {
        let (throttle, order) = (&throttle, &order);
        tasks.spawn(async move {
            for _ in 0..1_000 {
                let permit = throttle.acquire().await.unwrap();
                order.borrow_mut().push(number);
                permit.settle(Outcome::Ok);
            }
        });
    }
    tasks.run(&time, far());
    assert_eq!(tasks.left(), 0);
    // The first one was admitted before the others arrived.
    let order = order.take();
    assert_eq!(order[0], 0);
    for (place, number) in order[1..].iter().enumerate().take(15_984) {
        assert_eq!(*number, place % 16);
    }
    // Each asks once when it is the first, and takes its turn and queues again when its timer fires.
    assert!(tasks.polls() <= 2 * 16_000 + 16, "{} polls", tasks.polls());
}

#[test]
fn a_task_beyond_the_places_is_rejected_and_the_others_are_served() {
    let time = Time::begin();
    let throttle = throttle::<3>();
    let served = Cell::new(0);
    let rejected = Cell::new(0);
    let mut tasks = Tasks::new();
    for _ in 0..5 {
        tasks.spawn(async {
            match throttle.acquire().await {
                Ok(permit) => {
                    served.set(served.get() + 1);
                    permit.settle(Outcome::Ok);
                }
                Err(rejection) => {
                    assert_eq!(rejection, Rejection::QueueFull);
                    rejected.set(rejected.get() + 1);
                }
            }
        });
    }
    tasks.run(&time, far());
    assert_eq!((served.get(), rejected.get()), (4, 1));
}

#[test]
fn a_call_overtakes_only_waiting_calls_of_a_lower_priority() {
    for (waits, tries, admitted) in
        [(0, 0, false), (7, 7, false), (7, 0, false), (0, 7, true), (3, 4, true)]
    {
        let time = Time::begin();
        let throttle = throttle::<4>();
        throttle.try_acquire().unwrap().settle(Outcome::Ok);
        let sent = Cell::new(None);
        let mut tasks = Tasks::new();
        tasks.spawn(async {
            let call = throttle.call().with_priority(waits);
            call.acquire().await.unwrap().settle(Outcome::Ok);
            sent.set(Some(Instant::now().as_millis()));
        });
        tasks.turn();
        let tried =
            || throttle.call().with_priority(tries).try_acquire().map(|it| it.settle(Outcome::Ok));
        assert_eq!((throttle.waiting(), tried()), (1, None));
        // It may be sent now, but it has not run yet.
        time.pass(Duration::from_millis(100));
        assert_eq!(tried().is_some(), admitted, "{tries} beside {waits}");
        tasks.run(&time, far());
        let at = if admitted { 200 } else { 100 };
        assert_eq!((sent.get(), throttle.waiting()), (Some(at), 0));
    }
}

#[test]
fn slow_calls_start_as_the_law_raises_its_limit() {
    let time = Time::begin();
    let throttle: Throttle<NoopRawMutex, Adaptive, 64> =
        Throttle::seeded(const { &Policy::adaptive() }, 7);
    let starts = RefCell::new(Vec::new());
    let mut tasks = Tasks::new();
    for _ in 0..64 {
        tasks.spawn(async {
            let permit = throttle.acquire().await.unwrap();
            starts.borrow_mut().push(Instant::now().as_millis());
            Timer::after_secs(10).await;
            permit.settle(Outcome::Ok);
        });
    }
    tasks.run(&time, far());
    assert_eq!(tasks.left(), 0);
    // Ten at first, and twice as many after each 268 ms without a rejection.
    let starts = starts.take();
    let started = |by: u64| starts.iter().filter(|start| **start <= by).count();
    assert_eq!([0, 267, 271, 539, 808].map(started), [10, 10, 20, 40, 64]);
}

#[test]
fn a_settled_call_wakes_a_task_that_waits_for_room() {
    let time = Time::begin();
    let throttle = throttle::<4>();
    let one = throttle.try_acquire().unwrap();
    time.pass(Duration::from_millis(100));
    let _two = throttle.try_acquire().unwrap();
    let left_at = Cell::new(None);
    let mut tasks = Tasks::new();
    tasks.spawn(async {
        let permit = throttle.acquire().await.unwrap();
        left_at.set(Some(Instant::now()));
        permit.settle(Outcome::Ok);
    });
    tasks.run(&time, Instant::from_secs(3));
    assert_eq!(left_at.get(), None);
    one.settle(Outcome::Ok);
    tasks.run(&time, far());
    assert_eq!(left_at.get(), Some(Instant::from_secs(3)));
}

#[test]
fn a_call_is_rejected_as_soon_as_it_cannot_meet_its_deadline() {
    let clock = Time::begin();
    let throttle = throttle::<4>();
    let one = throttle.try_acquire().unwrap();
    let rejected_at = Cell::new(None);
    let mut tasks = Tasks::new();
    tasks.spawn(async {
        let hasty = throttle.with_timeout(Duration::from_millis(99)).acquire().await;
        assert_eq!(hasty.unwrap_err(), Rejection::Late(due(100)));
        assert_eq!(Instant::now(), Instant::from_ticks(0));
        // First in the queue, then delayed by a full concurrency limit.
        let two = throttle.acquire().await.unwrap();
        let late = throttle.with_timeout(Duration::from_secs(2)).acquire().await;
        assert!(matches!(late, Err(Rejection::Late(_))));
        rejected_at.set(Some(Instant::now()));
        two.settle(Outcome::Ok);
    });
    tasks.run(&clock, far());
    assert_eq!(tasks.left(), 0);
    let rejected_at = rejected_at.get().unwrap();
    assert!(rejected_at > Instant::from_millis(2_100));
    assert!(rejected_at <= Instant::from_millis(2_100) + Duration::from_ticks(2));
    assert_eq!(throttle.waiting(), 0);
    one.settle(Outcome::Ok);
}

#[test]
fn a_reset_and_a_lower_ceiling_wake_the_tasks_that_wait_for_a_cooldown() {
    type Uplink = Throttle<NoopRawMutex, Adaptive>;
    let lower = |uplink: &Uplink| {
        uplink.set_policy(leak(Policy::adaptive().ceiling(Span::from_secs(60)).unwrap()));
    };
    let ends: [(fn(&Uplink), _); 2] = [(Uplink::reset, 10..=10), (lower, 11..=70)];
    for (end, expected) in ends {
        let time = Time::begin();
        let uplink = Uplink::seeded(const { &Policy::adaptive() }, 7);
        let hour = Hint::retry_after(Span::from_secs(3_600));
        uplink.try_acquire().unwrap().settle(Outcome::Throttled.with(hour));
        let sent = Cell::new(0);
        let mut tasks = Tasks::new();
        tasks.spawn(async {
            uplink.acquire().await.unwrap().settle(Outcome::Ok);
            sent.set(Instant::now().as_secs());
        });
        tasks.run(&time, Instant::from_secs(10));
        assert_eq!(uplink.waiting(), 1);
        end(&uplink);
        tasks.run(&time, far());
        assert!(expected.contains(&sent.get()), "{} s", sent.get());
    }
}

#[test]
fn a_call_after_too_many_others_is_rejected_when_it_is_next() {
    let time = Time::begin();
    let throttle = throttle::<8>();
    throttle.set_policy(leak(Policy::new(Fixed::new(Quota::per_minute(1).unwrap()))));
    throttle.try_acquire().unwrap().settle(Outcome::Ok);
    let mut tasks = Tasks::new();
    for _ in 0..2 {
        tasks.spawn(async { throttle.acquire().await.unwrap().settle(Outcome::Ok) });
    }
    tasks.spawn(async {
        // The two before it are sent after one minute and after two.
        let late = throttle.with_timeout(Duration::from_secs(179)).acquire().await;
        assert_eq!(late.unwrap_err(), Rejection::Late(Instant::from_secs(180)));
        assert_eq!(Instant::now(), Instant::from_secs(120));
        let permit = throttle.with_timeout(Duration::from_secs(60)).acquire().await;
        permit.unwrap().settle(Outcome::Ok);
        assert_eq!(Instant::now(), Instant::from_secs(180));
    });
    tasks.run(&time, far());
    assert_eq!((tasks.left(), throttle.stats().ok), (0, 4));
}

#[test]
fn a_call_that_becomes_late_after_others_is_rejected_at_its_deadline() {
    let time = Time::begin();
    let throttle = throttle::<8>();
    throttle.try_acquire().unwrap().settle(Outcome::Ok);
    let rejected_at = Cell::new(None);
    let mut tasks = Tasks::new();
    for _ in 0..3 {
        tasks.spawn(async { throttle.acquire().await.unwrap().settle(Outcome::Ok) });
    }
    tasks.spawn(async {
        let late = throttle.with_timeout(Duration::from_secs(90)).acquire().await;
        assert!(matches!(late, Err(Rejection::Late(_))));
        rejected_at.set(Some(Instant::now()));
    });
    tasks.turn();
    // It could meet its deadline when it arrived.
    throttle.set_policy(leak(Policy::new(Fixed::new(Quota::per_minute(1).unwrap()))));
    tasks.run(&time, far());
    assert_eq!(rejected_at.get(), Some(Instant::from_secs(90) + Duration::from_ticks(1)));
    assert_eq!((tasks.left(), throttle.stats().ok), (0, 4));
}

#[test]
fn a_call_with_priority_overtakes_waiting_calls_and_its_retry_once_two_others_were_served() {
    let time = Time::begin();
    let throttle = throttle::<4>();
    throttle.set_policy(leak(policy().backoff(None)));
    throttle.try_acquire().unwrap().settle(Outcome::Ok);
    let order = RefCell::new(Vec::new());
    let mut tasks = Tasks::new();
    for (number, priority) in [0, 0, 7, 3].into_iter().enumerate() {
        let (throttle, order) = (&throttle, &order);
        tasks.spawn(async move {
            let mut attempts = 0;
            let answer = throttle.call().with_priority(priority).run(async || {
                order.borrow_mut().push(number);
                attempts += 1;
                if number == 2 && attempts < 2 { Outcome::Failed } else { Outcome::Ok }
            });
            assert_eq!(answer.await, Ok(Outcome::Ok));
        });
    }
    tasks.run(&time, far());
    assert_eq!(*order.borrow(), [2, 3, 0, 2, 1]);
    // Once to join, once to ask when it is the first, and once to be sent; all after the failure.
    assert!(tasks.polls() <= 4 + 2 * 5 + 3, "{} polls", tasks.polls());
}

#[test]
fn a_deadline_applies_after_a_task_that_does_not_run() {
    let time = Time::begin();
    let throttle = throttle::<4>();
    throttle.set_policy(leak(Policy::new(Fixed::new(Quota::per_minute(1).unwrap()))));
    throttle.try_acquire().unwrap().settle(Outcome::Ok);
    let mut first = pin!(throttle.acquire());
    assert!(first.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    let mut tasks = Tasks::new();
    tasks.spawn(async {
        let call = throttle.with_timeout(Duration::from_secs(125));
        assert!(matches!(call.acquire().await, Err(Rejection::Late(_))));
    });
    tasks.run(&time, far());
    assert_eq!(
        (tasks.left(), Instant::now()),
        (0, Instant::from_secs(125) + Duration::from_ticks(1))
    );
}

#[test]
fn a_faster_policy_or_higher_concurrency_limit_takes_effect_at_once() {
    let time = Time::begin();
    let throttle = throttle::<4>();
    throttle.set_policy(leak(Policy::new(Fixed::new(Quota::per_minute(1).unwrap()))));
    throttle.try_acquire().unwrap().settle(Outcome::Ok);
    let mut tasks = Tasks::new();
    tasks.spawn(async { throttle.acquire().await.unwrap().settle(Outcome::Ok) });
    tasks.run(&time, Instant::from_secs(1));
    throttle.set_policy(leak(policy()));
    tasks.run(&time, far());
    // The call before it counts.
    assert_eq!(tasks.left(), 0);
    assert!(
        Instant::now() > Instant::from_secs(1) && Instant::now() <= Instant::from_millis(1_101)
    );

    throttle.set_concurrency(NonZeroU16::MIN);
    time.pass(Duration::from_secs(1));
    let held = throttle.try_acquire().unwrap();
    tasks.spawn(async { throttle.acquire().await.unwrap().settle(Outcome::Ok) });
    tasks.run(&time, Instant::from_secs(5));
    assert_eq!(tasks.left(), 1);
    throttle.set_concurrency(NonZeroU16::new(2).unwrap());
    tasks.run(&time, far());
    assert_eq!((tasks.left(), Instant::now()), (0, Instant::from_secs(5)));
    held.settle(Outcome::Ok);
}

#[test]
fn two_waits_in_one_task_do_not_spin() {
    let time = Time::begin();
    let throttle = throttle::<4>();
    let mut tasks = Tasks::new();
    tasks.spawn(async {
        for _ in 0..100 {
            let (one, two) = join(throttle.acquire(), throttle.acquire()).await;
            one.unwrap().settle(Outcome::Ok);
            two.unwrap().settle(Outcome::Ok);
        }
    });
    tasks.run(&time, far());
    assert_eq!(throttle.stats().ok, 200);
    assert!(tasks.polls() <= 800, "{} polls", tasks.polls());
    // The gates are not checked again for each poll.
    assert!(throttle.stats().waits <= 200, "{} waits", throttle.stats().waits);
}

#[test]
fn the_next_task_takes_the_turn_of_a_dropped_one() {
    let time = Time::begin();
    let throttle = throttle::<8>();
    throttle.set_policy(leak(Policy::new(Fixed::new(Quota::per_second(10).unwrap()))));
    // Nothing completes that could wake another task.
    let _kept = throttle.try_acquire().unwrap();
    let left_at = RefCell::new(Vec::new());
    let mut tasks = Tasks::new();
    let first = tasks.spawn(async { drop(throttle.acquire().await) });
    for _ in 0..2 {
        tasks.spawn(async {
            let permit = throttle.acquire().await.unwrap();
            left_at.borrow_mut().push(Instant::now());
            core::mem::forget(permit);
        });
    }
    tasks.turn();
    tasks.cancel(first);
    tasks.run(&time, Instant::from_secs(10));
    assert_eq!(*left_at.borrow(), [100, 200].map(due));
}

#[test]
fn a_task_whose_turn_has_come_and_that_is_dropped_before_it_ran_costs_nothing() {
    let time = Time::begin();
    let throttle = throttle::<8>();
    throttle.try_acquire().unwrap().settle(Outcome::Ok);
    let left_at = Cell::new(None);
    let mut tasks = Tasks::new();
    let first = tasks.spawn(async { throttle.acquire().await.unwrap().settle(Outcome::Ok) });
    tasks.spawn(async {
        throttle.acquire().await.unwrap().settle(Outcome::Ok);
        left_at.set(Some(Instant::now()));
    });
    tasks.turn();
    time.pass(Duration::from_millis(101));
    let now = Instant::now();
    // Another call arrives. The first one's task has not run yet.
    let mut other = pin!(throttle.acquire());
    assert!(other.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    assert_eq!((throttle.in_flight(), throttle.waiting()), (0, 3));
    tasks.cancel(first);
    tasks.turn();
    assert_eq!(left_at.get(), Some(now));
    assert_eq!((tasks.left(), throttle.in_flight(), throttle.waiting()), (0, 0, 1));
}

#[test]
fn a_call_that_loses_its_place_passes_its_turn_on() {
    for priority in [0, 3] {
        let time = Time::begin();
        let throttle = throttle::<1>();
        throttle.set_policy(leak(policy().backoff(None)));
        let sent = RefCell::new(Vec::new());
        let mut tasks = Tasks::new();
        tasks.spawn(async {
            let urgent = throttle.call().with_priority(7).run(async || {
                sent.borrow_mut().push(Instant::now());
                Timer::after_millis(50).await;
                if sent.borrow().len() < 2 { Outcome::Failed } else { Outcome::Ok }
            });
            assert_eq!(urgent.await, Ok(Outcome::Ok));
        });
        tasks.turn();
        // After a failure, it precedes the retry of the urgent call, which takes its place.
        let first = tasks.spawn(async {
            let displaced = throttle.call().with_priority(priority).acquire().await;
            assert_eq!(displaced.unwrap_err(), Rejection::QueueFull);
        });
        tasks.run(&time, Instant::from_millis(60));
        assert_eq!((tasks.left(), throttle.waiting()), (1 + usize::from(priority > 0), 1));
        tasks.cancel(first);
        tasks.run(&time, Instant::from_secs(10));
        assert_eq!(*sent.borrow(), [0, 100].map(due), "{priority}");
    }
}
