//! Retries keep the place of their first attempt, and are not lost if the queue is full.

use core::num::NonZeroU16;
use std::cell::{Cell, RefCell};

use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_time::{Duration, Instant, Timer};
use tidegate::backoff::{Backoff, Growth, Jitter};
use tidegate::law::Fixed;
use tidegate::signal::http::Reading;
use tidegate::{Hint, Outcome, Policy, Quota, Reply, Span};
use tidegate_embassy::{Rejection, Throttle, refined};
use tidegate_embassy_host::{Tasks, Time, due, far, leak, policy, throttle};

#[test]
fn a_retry_precedes_calls_that_arrived_after_it_once_two_others_were_served() {
    let time = Time::begin();
    let throttle = throttle::<8>();
    throttle.set_policy(leak(policy().backoff(None)));
    let order = RefCell::new(Vec::new());
    let mut tasks = Tasks::new();
    for number in 0..6 {
        let (throttle, order) = (&throttle, &order);
        tasks.spawn(async move {
            let mut attempts = 0;
            let answer = throttle.run(async || {
                order.borrow_mut().push(number);
                attempts += 1;
                if number == 0 && attempts < 3 { Outcome::Failed } else { Outcome::Ok }
            });
            assert_eq!(answer.await, Ok(Outcome::Ok));
        });
    }
    tasks.run(&time, far());
    assert_eq!(*order.borrow(), [0, 1, 2, 0, 3, 4, 0, 5]);
}

#[test]
fn a_call_that_is_backed_off_does_not_delay_others() {
    let time = Time::begin();
    let throttle = throttle::<8>();
    let minute = Span::from_secs(60);
    let backoff = Backoff::new(Growth::Constant, Jitter::None, minute, minute).unwrap();
    throttle.set_policy(leak(policy().backoff(Some(backoff))));
    let order = RefCell::new(Vec::new());
    let mut tasks = Tasks::new();
    tasks.spawn(async {
        let mut attempts = 0;
        let answer = throttle.run(async || {
            order.borrow_mut().push(("first", Instant::now()));
            attempts += 1;
            if attempts < 2 { Outcome::Failed } else { Outcome::Ok }
        });
        assert_eq!(answer.await, Ok(Outcome::Ok));
    });
    tasks.turn();
    tasks.spawn(async {
        let permit = throttle.acquire().await.unwrap();
        order.borrow_mut().push(("second", Instant::now()));
        permit.settle(Outcome::Ok);
    });
    tasks.run(&time, far());
    assert_eq!(*order.borrow(), [("first", due(0)), ("second", due(100)), ("first", due(60_000))]);
}

#[test]
fn each_attempt_is_checked_by_the_gates() {
    let time = Time::begin();
    let throttle = throttle::<8>();
    let tenth = Span::from_millis(100);
    let backoff = Backoff::new(Growth::Constant, Jitter::None, tenth, tenth).unwrap();
    let unlimited = Policy::new(Fixed::UNLIMITED).backoff(Some(backoff));
    throttle.set_policy(leak(unlimited.concurrency(NonZeroU16::MIN)));
    let mut tasks = Tasks::new();
    // While one is backed off, the other fills the concurrency limit.
    tasks.spawn(async {
        for _ in 0..3 {
            let answer = throttle.run(async || {
                Timer::after_secs(1).await;
                Outcome::Ok
            });
            assert_eq!(answer.await, Ok(Outcome::Ok));
        }
    });
    tasks.spawn(async {
        let mut attempts = 0;
        let answer = throttle.run(async || {
            attempts += 1;
            Timer::after_secs(1).await;
            if attempts < 3 { Outcome::Failed } else { Outcome::Ok }
        });
        assert_eq!(answer.await, Ok(Outcome::Ok));
    });
    tasks.run(&time, far());
    assert_eq!(tasks.left(), 0);
    // Two of the first call's three attempts found it full when they were the first in line (the second one twice), and
    // so did one of the other's three calls.
    assert_eq!((throttle.stats().full, throttle.stats().ok), (4, 4));
}

#[test]
fn the_time_limit_of_a_policy_applies_to_a_waiting_retry() {
    let time = Time::begin();
    let throttle = throttle::<8>();
    let second = Span::from_secs(1);
    let backoff = Backoff::new(Growth::Constant, Jitter::None, second, second).unwrap();
    let concurrency = NonZeroU16::new(2).unwrap();
    let unlimited = Policy::new(Fixed::UNLIMITED).concurrency(concurrency);
    throttle.set_policy(leak(unlimited.backoff(Some(backoff)).elapsed(Some(Span::from_secs(5)))));
    let ended_at = Cell::new(None);
    let mut tasks = Tasks::new();
    tasks.spawn(async {
        assert_eq!(throttle.run(async || Outcome::Failed).await, Ok(Outcome::Failed));
        ended_at.set(Some(Instant::now()));
    });
    for _ in 0..2 {
        tasks.spawn(async {
            let permit = throttle.acquire().await.unwrap();
            Timer::after_secs(60).await;
            permit.settle(Outcome::Ok);
        });
    }
    tasks.run(&time, far());
    assert_eq!(throttle.stats().retries, 1);
    assert_eq!(ended_at.get(), Some(Instant::from_secs(5) + Duration::from_ticks(1)));
}

#[test]
fn a_retry_without_a_place_is_sent_when_the_gates_open() {
    let time = Time::begin();
    let throttle = throttle::<5>();
    let slow = Policy::new(Fixed::new(Quota::per_minute(1).unwrap()));
    throttle.set_policy(leak(slow.backoff(None)));
    let mut tasks = Tasks::new();
    for number in 0..6 {
        let throttle = &throttle;
        tasks.spawn(async move {
            let mut attempts = 0;
            let answer = throttle.run(async || {
                Timer::after_millis(50).await;
                attempts += 1;
                if number == 0 && attempts < 2 { Outcome::Throttled } else { Outcome::Ok }
            });
            assert_eq!(answer.await, Ok(Outcome::Ok), "call {number}");
        });
    }
    tasks.run(&time, far());
    assert_eq!((tasks.left(), throttle.waiting()), (0, 0));
    // At a call a minute, the last of seven is sent after six.
    assert_eq!(Instant::now(), Instant::from_secs(360) + Duration::from_millis(50));
    assert!(tasks.polls() <= 40, "{} polls", tasks.polls());
}

/// A retry finds the concurrency limit full and another call in the only place of the queue. Those
/// complete after this time. Returns when the retry ended, and how.
fn without_a_place(takes: Duration, timeout: Duration) -> (Instant, Result<Outcome, Rejection>) {
    let time = Time::begin();
    let throttle = throttle::<1>();
    let second = Span::from_secs(1);
    let backoff = Backoff::new(Growth::Constant, Jitter::None, second, second).unwrap();
    let concurrency = NonZeroU16::MIN;
    throttle.set_policy(leak(
        Policy::new(Fixed::UNLIMITED).concurrency(concurrency).backoff(Some(backoff)),
    ));
    let ended = Cell::new(None);
    let mut tasks = Tasks::new();
    tasks.spawn(async {
        let mut attempts = 0;
        let answer = throttle.with_timeout(timeout).run(async || {
            attempts += 1;
            if attempts < 2 { Outcome::Failed } else { Outcome::Ok }
        });
        let answer = answer.await;
        ended.set(Some((Instant::now(), answer)));
    });
    for _ in 0..2 {
        tasks.spawn(async {
            let permit = throttle.acquire().await.unwrap();
            Timer::after(takes).await;
            permit.settle(Outcome::Ok);
        });
    }
    tasks.run(&time, far());
    assert_eq!((tasks.left(), throttle.waiting(), throttle.in_flight()), (0, 0, 0));
    assert!(tasks.polls() <= 20, "{} polls", tasks.polls());
    ended.get().unwrap()
}

#[test]
fn a_retry_without_a_place_takes_one_that_becomes_free() {
    let ended = without_a_place(Duration::from_millis(3_500), Duration::from_secs(60));
    assert_eq!(ended, (Instant::from_secs(7), Ok(Outcome::Ok)));
}

#[test]
fn a_retry_without_a_place_ends_with_its_deadline() {
    let ended = without_a_place(Duration::from_secs(60), Duration::from_secs(5));
    let late = Instant::from_secs(5) + Duration::from_ticks(1);
    assert_eq!(ended, (late, Ok(Outcome::Failed)));
}

#[test]
fn a_call_whose_deadline_passes_in_flight_is_given_up_and_not_refunded() {
    let time = Time::begin();
    let throttle = throttle::<4>();
    let sent = Cell::new(0);
    let mut tasks = Tasks::new();
    tasks.spawn(async {
        let call = throttle.call().done_within(Duration::from_secs(1));
        let answer = call.run(async || {
            sent.set(sent.get() + 1);
            Timer::after_secs(3_600).await;
        });
        assert_eq!(answer.await, Err(Rejection::GivenUp));
        assert_eq!(Instant::now(), Instant::from_secs(1));
    });
    tasks.run(&time, far());
    assert_eq!((tasks.left(), sent.get(), throttle.stats().abandoned), (0, 1, 1));
}

#[test]
fn a_cooldown_rejects_calls_behind_the_first_whose_deadline_is_before_its_end() {
    let time = Time::begin();
    let throttle = throttle::<4>();
    let flying = throttle.try_acquire().unwrap();
    let rejected = Cell::new(None);
    let mut tasks = Tasks::new();
    tasks.spawn(async { throttle.acquire().await.unwrap().settle(Outcome::Ok) });
    tasks.spawn(async {
        let late = throttle.with_timeout(Duration::from_secs(10)).acquire().await;
        rejected.set(Some((late.err(), Instant::now())));
    });
    tasks.turn();
    let minute = Hint::retry_after(Span::from_secs(60));
    flying.settle(Outcome::Throttled.with(minute));
    tasks.turn();
    let (late, at) = rejected.get().unwrap();
    assert!(matches!(late, Some(Rejection::Late(at)) if at >= Instant::from_secs(60)));
    assert_eq!(at, Instant::from_ticks(0));
    tasks.run(&time, far());
    assert_eq!((tasks.left(), throttle.waiting()), (0, 0));
}

#[test]
fn a_reply_that_is_written_in_place_has_the_server_s_cooldown_and_is_a_failure_at_first() {
    let time = Time::begin();
    let throttle = throttle::<4>();
    throttle.set_policy(leak(policy().backoff(None)));
    let sent = RefCell::new(Vec::new());
    let mut tasks = Tasks::new();
    tasks.spawn(async {
        let answer = throttle.run_with(async |reply: &mut Reply| {
            sent.borrow_mut().push(Instant::now().as_secs());
            let attempt = sent.borrow().len();
            if attempt == 1 {
                return Err("no response");
            }
            *reply = match attempt {
                2 => Outcome::Throttled.with(Hint::retry_after(Span::from_secs(60))),
                _ => Outcome::Ok.into(),
            };
            Ok(attempt)
        });
        assert_eq!(answer.await, Ok(Ok(3)));
    });
    tasks.run(&time, far());
    let sent = sent.take();
    assert!(sent[..2] == [0, 0] && (60..=72).contains(&sent[2]), "{sent:?}");
    let stats = throttle.stats();
    assert_eq!((stats.failed, stats.throttled, stats.ok), (1, 1, 1));
}

#[test]
fn a_throttle_rejects_until_it_is_started_and_can_be_started_again() {
    let time = Time::begin();
    let throttle: Throttle<NoopRawMutex, Fixed> = Throttle::new();
    throttle.set_concurrency(NonZeroU16::MIN);
    assert!(throttle.try_acquire().is_none());
    assert_eq!((throttle.interval(), throttle.stats().admitted), (None, 0));
    let mut tasks = Tasks::new();
    tasks.spawn(async {
        assert_eq!(throttle.run(async || Outcome::Ok).await, Err(Rejection::NotStarted));
        throttle.start(leak(policy()), 7);
        assert_eq!(throttle.run(async || Outcome::Ok).await, Ok(Outcome::Ok));
        // After another start, it does not know that a call was sent.
        throttle.start(leak(policy()), 8);
        assert_eq!(throttle.run(async || Outcome::Ok).await, Ok(Outcome::Ok));
        assert_eq!(Instant::now(), Instant::from_ticks(0));
    });
    tasks.run(&time, far());
    assert_eq!((tasks.left(), throttle.stats().admitted), (0, 1));
}

#[test]
fn the_gates_know_of_a_waiting_call_after_another_overtook_it() {
    let time = Time::begin();
    let throttle = throttle::<8>();
    let concurrency = NonZeroU16::MIN;
    throttle.set_policy(leak(Policy::new(Fixed::UNLIMITED).concurrency(concurrency)));
    let mut tasks = Tasks::new();
    let held = throttle.try_acquire().unwrap();
    for priority in [0, 7] {
        let throttle = &throttle;
        tasks.spawn(async move {
            let permit = throttle.call().with_priority(priority).acquire().await.unwrap();
            Timer::after_secs(1).await;
            permit.settle(Outcome::Ok);
        });
    }
    tasks.turn();
    assert_eq!(throttle.stats().full, 2);
    drop(held);
    while tasks.turn() {}
    assert_eq!((throttle.in_flight(), throttle.waiting()), (1, 1));
    assert_eq!(throttle.stats().full, 3, "the gates do not know that a call waits");
    tasks.run(&time, far());
    assert_eq!((tasks.left(), throttle.waiting()), (0, 0));
}

#[test]
fn a_quota_that_is_exhausted_until_after_the_deadline_ends_a_call_at_once() {
    let time = Time::begin();
    let throttle = throttle::<2>();
    let calls = Cell::new(0);
    let exhausted = br#"{"error":{"code":"insufficient_quota"}}"#;
    let github = br#"{"message":"API rate limit exceeded for user ID 12345."}"#;
    let send = async |status: u16, headers: &[(&str, &str)], body: &[u8]| {
        calls.set(calls.get() + 1);
        let mut reading = Reading::common(status);
        headers.iter().for_each(|(name, value)| reading.header(name, value));
        let reply: Reply = reading.reply(None);
        refined(reply, status, body)
    };
    let mut tasks = Tasks::new();
    tasks.spawn(async {
        let begun = Instant::now();
        let answer = throttle.run(async || send(429, &[], exhausted).await).await.unwrap();
        assert_eq!(answer.outcome, Outcome::Exhausted);
        let reset = [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "2400")];
        let call = throttle.with_timeout(Duration::from_secs(10));
        let answer = call.run(async || send(403, &reset, github).await).await.unwrap();
        assert_eq!(answer.outcome, Outcome::Throttled);
        // The next call is rejected with the time at which it could be sent.
        let next = throttle.with_timeout(Duration::from_secs(10)).acquire().await;
        let renewed = Instant::now() + Duration::from_secs(2_400);
        assert!(matches!(next, Err(Rejection::Late(at)) if at >= renewed));
        assert!(Instant::now() - begun < Duration::from_secs(1));
    });
    tasks.run(&time, far());
    assert_eq!(calls.get(), 2);
}
