//! The queue: first come, first served, and a task that leaves frees its place.

use embassy_futures::join::join;
use tidegate_embassy_host::*;

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
            served(throttle.call().with_priority(waits).acquire()).await;
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
        let uplink: Uplink = throttle_of(Policy::adaptive());
        let hour = Hint::retry_after(Span::from_secs(3_600));
        uplink.try_acquire().unwrap().settle(Outcome::Throttled.with(hour));
        let sent = Cell::new(0);
        let mut tasks = Tasks::new();
        tasks.spawn(async {
            served(uplink.acquire()).await;
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
    let throttle = throttle_of::<_, 8>(every(60));
    throttle.try_acquire().unwrap().settle(Outcome::Ok);
    let mut tasks = Tasks::new();
    for _ in 0..2 {
        tasks.spawn(served(throttle.acquire()));
    }
    tasks.spawn(async {
        // The two before it are sent after one minute and after two.
        let late = throttle.with_timeout(Duration::from_secs(179)).acquire().await;
        assert_eq!(late.unwrap_err(), Rejection::Late(Instant::from_secs(180)));
        assert_eq!(Instant::now(), Instant::from_secs(120));
        served(throttle.with_timeout(Duration::from_secs(60)).acquire()).await;
        assert_eq!(Instant::now(), Instant::from_secs(180));
    });
    tasks.run(&time, far());
    assert_eq!((tasks.left(), throttle.stats().ok), (0, 4));
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
    let throttle = throttle_of::<_, 8>(policy().concurrency(NonZeroU16::MAX));
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

/// The order of the attempts of calls with these priorities, of which one fails so many times.
fn order<const CALLS: usize>(
    priorities: [u8; CALLS],
    fails: usize,
    times: u32,
) -> (Vec<usize>, u64) {
    let time = Time::begin();
    let throttle = throttle_of::<_, 8>(policy().backoff(None));
    let order = RefCell::new(Vec::new());
    throttle.try_acquire().unwrap().settle(Outcome::Ok);
    let mut tasks = Tasks::new();
    for (number, priority) in priorities.into_iter().enumerate() {
        let (throttle, order) = (&throttle, &order);
        tasks.spawn(async move {
            let mut next = failing(if number == fails { times } else { 0 });
            let call = throttle.call().with_priority(priority);
            let answer = call.run(async || {
                order.borrow_mut().push(number);
                next()
            });
            assert_eq!(answer.await, Ok(Outcome::Ok));
        });
    }
    tasks.run(&time, far());
    (order.take(), tasks.polls())
}

#[test]
fn a_retry_precedes_calls_of_its_priority_once_two_others_were_served() {
    let (sent, polls) = order([0, 0, 7, 3], 2, 1);
    assert_eq!(sent, [2, 3, 0, 2, 1]);
    // Once to join, once to ask when it is the first, and once to be sent; all after the failure.
    assert!(polls <= 4 + 2 * 5 + 3, "{polls} polls");
    assert_eq!(order([0; 6], 0, 2).0, [0, 1, 2, 0, 3, 4, 0, 5]);
}
