//! Priorities, and calls that become obsolete.

use tidegate_embassy_host::*;

/// One call a second, and places for two tasks.
fn throttle() -> Throttle<NoopRawMutex, Fixed, 2> {
    throttle_of(every(1))
}

#[test]
fn an_urgent_call_takes_the_place_of_the_last_ordinary_one_and_is_sent_first() {
    let time = Time::begin();
    let throttle = throttle();
    throttle.try_acquire().unwrap().settle(Outcome::Ok);
    let order = RefCell::new(Vec::new());
    let mut tasks = Tasks::new();
    for number in [0, 1, 2, 70, 71, 72] {
        let (throttle, order) = (&throttle, &order);
        tasks.spawn(async move {
            let call = throttle.call().with_priority(number / 10);
            let sent = call.acquire().await.map(|permit| permit.settle(Outcome::Ok));
            order.borrow_mut().push((number, sent, Instant::now().as_secs()));
        });
        tasks.turn();
    }
    tasks.run(&time, far());
    let full = Err(Rejection::QueueFull);
    let order = order.take();
    // The third ordinary call finds no place. So does the third urgent one, and queues again.
    assert_eq!(order[..3], [(2, full, 0), (1, full, 0), (0, full, 0)]);
    assert_eq!(order[3..], [(70, Ok(()), 1), (71, Ok(()), 2), (72, Ok(()), 3)]);
}

#[test]
fn a_call_of_a_higher_priority_does_not_wait_for_a_task_whose_executor_is_busy() {
    let time = Time::begin();
    let throttle = throttle();
    throttle.try_acquire().unwrap().settle(Outcome::Ok);
    let _busy = stuck(throttle.acquire());
    let sent = RefCell::new(Vec::new());
    let mut tasks = Tasks::new();
    tasks.spawn(async {
        loop {
            served(throttle.call().with_priority(1).acquire()).await;
            sent.borrow_mut().push(Instant::now().as_secs());
        }
    });
    tasks.run(&time, Instant::from_secs(60));
    assert_eq!(*sent.borrow(), (1..=60).collect::<Vec<_>>());
}

/// The reply of a server to a call now, with all hints.
fn call(window: &RefCell<Window>) -> Reply {
    let mut window = window.borrow_mut();
    let served = window.take(Instant::now().as_secs(), 1);
    let reset = Span::from_secs(window.reset());
    let all = Hint::quota(100, Span::from_secs(3_600));
    let all = all.and_remaining(window.remaining()).and_reset(reset);
    match served {
        true => Outcome::Ok.with(all),
        false => Outcome::Throttled.with(all.and_retry_after(reset)),
    }
}

/// A day of eight telemetry tasks (a reading each minute in total), a bulk download with four calls
/// at a time, and an alarm every half hour, at 100 calls an hour. Returns how many alarms waited
/// for more than one interval of the limit although the window had room, how many other calls were
/// admitted while one waited, and how many alarms were lost.
fn alarms<const WAITERS: usize>() -> (u32, u32, u32) {
    const DAY: Duration = Duration::from_secs(86_400);
    let time = Time::begin();
    let throttle = throttle_of::<_, WAITERS>(Policy::adaptive());
    // In seconds.
    let server = RefCell::new(Window::new(100, 3_600));
    let (waits, admitted, lost) = (Cell::new(false), Cell::new(0), Cell::new(0));
    let (long, overtaken) = (Cell::new(0), Cell::new(0));
    let mut tasks = Tasks::new();
    for task in 0..12 {
        let (throttle, server, waits, overtaken) = (&throttle, &server, &waits, &overtaken);
        tasks.spawn(async move {
            loop {
                _ = throttle
                    .run(async || {
                        overtaken.set(overtaken.get() + u32::from(waits.get()));
                        Timer::after_millis(200).await;
                        call(server)
                    })
                    .await;
                Timer::after_secs(if task < 8 { 480 } else { 1 }).await;
            }
        });
    }
    tasks.spawn(async {
        for _ in 0..47 {
            Timer::after_secs(1_800).await;
            let (began, room) = (Instant::now(), server.borrow().remaining() > 0);
            waits.set(true);
            let sent = throttle.call().with_priority(7).run(async || {
                waits.set(false);
                let waited = began.elapsed().as_secs();
                long.set(long.get() + u32::from(room && waited > 37));
                Timer::after_millis(200).await;
                let reply = call(&server);
                waits.set(reply.outcome != Outcome::Ok);
                reply
            });
            match sent.await {
                Ok(Reply { outcome: Outcome::Ok, .. }) => admitted.set(admitted.get() + 1),
                _ => lost.set(lost.get() + 1),
            }
            waits.set(false);
        }
    });
    tasks.run(&time, Instant::MIN + DAY + DAY);
    assert_eq!(admitted.get() + lost.get(), 47);
    (long.get(), overtaken.get(), lost.get())
}

#[test]
fn no_alarm_is_lost_or_overtaken_beside_telemetry_and_a_download() {
    for (long, overtaken, lost) in [alarms::<4>(), alarms::<16>()] {
        assert_eq!((overtaken, lost), (0, 0));
        // At the start of a window the law waits a little longer for any call.
        assert!(long <= 1, "{long} of 47");
    }
}

#[test]
fn slow_calls_are_cut_off_only_at_a_completion_deadline_and_not_started_late() {
    for (timeout, cut) in [(30, 0), (10, 0), (4, 1)] {
        let time = Time::begin();
        let throttle = throttle();
        let (given_up, late, served) = (Cell::new(0), Cell::new(0), Cell::new(0));
        let mut tasks = Tasks::new();
        tasks.spawn(async {
            for _ in 0..40 {
                let call = throttle.call().done_within(Duration::from_secs(timeout));
                match call.run(async || Timer::after_secs(5).await).await {
                    Ok(()) => served.set(served.get() + 1),
                    Err(Rejection::GivenUp) => given_up.set(given_up.get() + 1),
                    Err(Rejection::Late(_)) => late.set(late.get() + 1),
                    Err(other) => panic!("{other}"),
                }
                Timer::after_secs(1).await;
            }
            // Without that deadline all are served, however long they take.
            for _ in 0..10 {
                let call = throttle.with_timeout(Duration::from_secs(timeout));
                assert_eq!(call.run(async || Timer::after_secs(5).await).await, Ok(()));
            }
        });
        tasks.run(&time, far());
        assert_eq!(tasks.left(), 0);
        let sums = (served.get(), given_up.get(), late.get());
        match cut {
            0 => assert_eq!(sums, (40, 0, 0), "{timeout} s"),
            // After one that was cut off, no others are started, except for an occasional one.
            _ => assert!(sums.0 == 0 && sums.1 < 24 && sums.1 + sums.2 == 40, "{sums:?}"),
        }
    }
}
