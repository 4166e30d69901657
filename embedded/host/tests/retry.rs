//! Retries keep the place of their first attempt, and are not lost if the queue is full.

use tidegate_embassy_host::*;

#[test]
fn a_call_that_is_backed_off_does_not_delay_others() {
    let time = Time::begin();
    let throttle = throttle_of::<_, 8>(policy().backoff(apart(Span::from_secs(60))));
    let order = RefCell::new(Vec::new());
    let mut tasks = Tasks::new();
    tasks.spawn(async {
        let mut next = failing(1);
        let answer = throttle.run(async || {
            order.borrow_mut().push(("first", Instant::now()));
            next()
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
fn the_time_limit_of_a_policy_applies_to_a_waiting_retry() {
    let time = Time::begin();
    let unlimited = Policy::new(Fixed::UNLIMITED).concurrency(NonZeroU16::new(2).unwrap());
    let policy = unlimited.backoff(apart(Span::from_secs(1))).elapsed(Some(Span::from_secs(5)));
    let throttle = throttle_of::<_, 8>(policy);
    let ended_at = Cell::new(None);
    let mut tasks = Tasks::new();
    tasks.spawn(async {
        assert_eq!(throttle.run(async || Outcome::Failed).await, Ok(Outcome::Failed));
        ended_at.set(Some(Instant::now()));
    });
    for _ in 0..2 {
        tasks.spawn(served_after(Duration::from_secs(60), throttle.acquire()));
    }
    tasks.run(&time, far());
    assert_eq!(throttle.stats().retries, 1);
    assert_eq!(ended_at.get(), Some(Instant::from_secs(5) + Duration::from_ticks(1)));
}

#[test]
fn a_retry_without_a_place_is_sent_when_the_gates_open() {
    let time = Time::begin();
    let throttle = throttle_of::<_, 5>(every(60).backoff(None));
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
    let policy = Policy::new(Fixed::UNLIMITED).concurrency(NonZeroU16::MIN);
    let throttle = throttle_of::<_, 1>(policy.backoff(apart(Span::from_secs(1))));
    let ended = Cell::new(None);
    let mut tasks = Tasks::new();
    tasks.spawn(async {
        let mut next = failing(1);
        let answer = throttle.with_timeout(timeout).run(async || next()).await;
        ended.set(Some((Instant::now(), answer)));
    });
    for _ in 0..2 {
        tasks.spawn(served_after(takes, throttle.acquire()));
    }
    tasks.run(&time, far());
    assert_eq!((tasks.left(), throttle.waiting(), throttle.in_flight()), (0, 0, 0));
    assert!(tasks.polls() <= 20, "{} polls", tasks.polls());
    ended.get().unwrap()
}

#[test]
fn a_retry_without_a_place_takes_one_that_becomes_free_or_ends_with_its_deadline() {
    let ended = without_a_place(Duration::from_millis(3_500), Duration::from_secs(60));
    assert_eq!(ended, (Instant::from_secs(7), Ok(Outcome::Ok)));
    let ended = without_a_place(Duration::from_secs(60), Duration::from_secs(5));
    let late = Instant::from_secs(5) + Duration::from_ticks(1);
    assert_eq!(ended, (late, Ok(Outcome::Failed)));
}

#[test]
fn a_cooldown_rejects_calls_behind_the_first_whose_deadline_is_before_its_end() {
    let time = Time::begin();
    let throttle = throttle::<4>();
    let flying = throttle.try_acquire().unwrap();
    let rejected = Cell::new(None);
    let mut tasks = Tasks::new();
    tasks.spawn(served(throttle.acquire()));
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
    let throttle = throttle_of::<_, 4>(policy().backoff(None));
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
    let throttle = throttle_of::<_, 8>(Policy::new(Fixed::UNLIMITED).concurrency(NonZeroU16::MIN));
    let mut tasks = Tasks::new();
    let held = throttle.try_acquire().unwrap();
    for priority in [0, 7] {
        let call = throttle.call().with_priority(priority);
        tasks.spawn(served_after(Duration::from_secs(1), call.acquire()));
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
