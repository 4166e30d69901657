//! Queues per key.

use tidegate::snapshot::SnapshotError;
use tidegate_embassy::{Call, Shared};
use tidegate_embassy_host::*;

type Apis = KeyedThrottle<NoopRawMutex, u8, Fixed, 3, 8>;

/// One call a second for each key.
fn apis() -> Apis {
    Apis::seeded(leak(every(1)), 7)
}

#[test]
fn a_new_policy_and_concurrency_limit_apply_to_every_key_and_to_waiting_calls() {
    let time = Time::begin();
    let apis = apis();
    let done_at = RefCell::new(Vec::new());
    let mut tasks = Tasks::new();
    for number in 0..4u8 {
        let (apis, done_at) = (&apis, &done_at);
        tasks.spawn(async move {
            served(apis.call(number % 2).acquire()).await;
            done_at.borrow_mut().push(Instant::now().as_millis());
        });
    }
    tasks.run(&time, Instant::from_millis(500));
    assert_eq!((done_at.borrow().len(), apis.waiting()), (2, 2));
    apis.set_policy(leak(Policy::new(Fixed::UNLIMITED)));
    tasks.run(&time, far());
    assert_eq!(*done_at.borrow(), [0, 0, 500, 500]);

    apis.set_concurrency(NonZeroU16::MIN);
    for key in [0, 2] {
        let first = apis.call(key).try_acquire();
        assert!(apis.call(key).try_acquire().is_none());
        assert_eq!((first.is_some(), apis.in_flight(&key)), (true, 1));
    }
}

#[test]
fn a_key_continues_from_its_snapshot_and_wakes_waiting_calls() {
    let time = Time::begin();
    let apis = apis();
    let mut record = [0; Apis::SNAPSHOT_BYTES];
    assert_eq!(apis.snapshot(&1, &mut record), Ok(0), "an unused key");
    apis.call(2).try_acquire().unwrap().settle(Outcome::Ok);
    time.pass(Duration::from_secs(10));
    let fresh = apis.call(1).try_acquire().unwrap();
    assert_eq!(apis.snapshot(&2, &mut record), Ok(Apis::SNAPSHOT_BYTES));

    // After a restore the next call may be sent at once.
    let mut tasks = Tasks::new();
    tasks.spawn(served(apis.call(1).acquire()));
    tasks.turn();
    assert_eq!(apis.waiting(), 1);
    apis.restore(&1, &record, Duration::from_secs(0)).unwrap();
    tasks.turn();
    assert_eq!((tasks.left(), Instant::now()), (0, Instant::from_secs(10)));
    // The restored gates learn from a call that was in flight.
    assert_eq!(apis.in_flight(&1), 1);
    fresh.settle(Outcome::Ok);
    assert_eq!((apis.in_flight(&1), apis.stats(&1).unwrap().ok), (0, 2));
    assert_eq!(apis.interval(&1), Some(Duration::from_secs(1)));

    record[9] ^= 1;
    let damaged = apis.restore(&3, &record, Duration::from_secs(0));
    assert_eq!((damaged, apis.keys()), (Err(SnapshotError::Damaged), 2));
}

/// Room for two keys, and for two calls of each.
type Pair = KeyedThrottle<NoopRawMutex, u8, Fixed, 2, 8>;

/// Key 1 has used its calls of this minute.
fn spent() -> Pair {
    let quota = Quota::per_minute(2).unwrap().with_burst(2).unwrap();
    let apis = Pair::seeded(leak(Policy::new(Fixed::new(quota))), 7);
    for _ in 0..2 {
        apis.call(1).try_acquire().unwrap().settle(Outcome::Ok);
    }
    apis
}

/// Uses two other keys, so that key 1 is evicted.
fn evict_the_first(apis: &Pair) {
    for key in [2, 3] {
        apis.call(key).try_acquire().unwrap().settle(Outcome::Ok);
    }
    assert!(apis.stats(&1).is_none());
}

#[test]
fn a_reset_ends_the_cooldown_of_its_key_and_makes_room_for_another() {
    let time = Time::begin();
    let apis: KeyedThrottle<NoopRawMutex, u8, Adaptive, 2, 8> =
        KeyedThrottle::seeded(const { &Policy::adaptive() }, 7);
    let sent = RefCell::new(Vec::new());
    let mut tasks = Tasks::new();
    for key in 0..3 {
        if key < 2 {
            let hour = Hint::retry_after(Span::from_secs(3_600));
            apis.call(key).try_acquire().unwrap().settle(Outcome::Throttled.with(hour));
        }
        let (apis, sent) = (&apis, &sent);
        tasks.spawn(async move {
            served(apis.call(key).acquire()).await;
            sent.borrow_mut().push((key, Instant::now().as_secs()));
        });
    }
    tasks.spawn(async {
        let hasty = apis.call(2).with_timeout(Duration::from_secs(60)).acquire().await;
        assert!(matches!(hasty, Err(Rejection::Late(_))));
    });
    tasks.run(&time, Instant::from_secs(10));
    assert_eq!((sent.borrow().len(), tasks.left(), apis.waiting()), (0, 3, 3));
    apis.reset(&0);
    tasks.run(&time, Instant::from_secs(60));
    assert_eq!(*sent.borrow(), [(0, 10), (2, 10)]);
}

#[test]
fn a_call_of_an_evicted_key_wakes_the_task_that_waits_for_its_old_gates() {
    let time = Time::begin();
    let apis = spent();
    let mut tasks = Tasks::new();
    tasks.spawn(served(apis.call(1).acquire()));
    tasks.turn();
    evict_the_first(&apis);
    tasks.spawn(served(apis.call(1).with_timeout(Duration::from_secs(1)).acquire()));
    tasks.run(&time, far());
    assert_eq!((tasks.left(), Instant::now()), (0, Instant::from_ticks(0)));
}

#[test]
fn a_task_that_does_not_run_delays_others_of_its_key_until_it_leaves() {
    let time = Time::begin();
    let apis = spent();
    apis.set_concurrency(NonZeroU16::MIN);
    let mut first = stuck(apis.call(1).acquire());
    evict_the_first(&apis);
    let rejected_at = Cell::new(None);
    let mut tasks = Tasks::new();
    tasks.spawn(async {
        let late = apis.call(1).with_timeout(Duration::from_secs(1)).acquire().await;
        assert!(matches!(late, Err(Rejection::Late(_))));
        rejected_at.set(Some(Instant::now()));
    });
    tasks.run(&time, far());
    let tick = Duration::from_ticks(1);
    assert_eq!(rejected_at.get(), Some(Instant::from_secs(1) + tick));
    assert!(tasks.polls() <= 3, "{} polls", tasks.polls());

    // Its turn has come, and it holds no permit meanwhile.
    tasks.spawn(served(apis.call(1).acquire()));
    tasks.spawn(served(apis.call(2).acquire()));
    tasks.turn();
    assert_eq!((tasks.left(), apis.waiting(), apis.in_flight(&1)), (1, 2, 0));
    first.set(apis.call(1).acquire());
    tasks.turn();
    assert_eq!((tasks.left(), apis.waiting(), apis.in_flight(&1)), (0, 0, 0));
}

#[test]
fn a_failure_wakes_only_the_calls_of_its_key() {
    let time = Time::begin();
    let apis = apis();
    let [one, _two] = [1, 2].map(|key| apis.call(key).try_acquire().unwrap());
    let mut tasks = Tasks::new();
    let [first, second, other] = [1, 1, 2].map(|key| tasks.spawn(served(apis.call(key).acquire())));
    tasks.turn();
    one.settle(Outcome::Failed);
    tasks.turn();
    assert_eq!([first, second, other].map(|task| tasks.polls_of(task)), [2, 2, 1]);
    tasks.run(&time, far());
    assert_eq!(tasks.left(), 0);
}

#[test]
fn a_call_that_loses_its_place_to_another_key_passes_its_turn_on() {
    for priority in [0, 3] {
        let time = Time::begin();
        let apis: KeyedThrottle<NoopRawMutex, u8, Fixed, 3, 2> = KeyedThrottle::seeded(slow(), 7);
        apis.call(2).try_acquire().unwrap().settle(Outcome::Ok);
        let sent = RefCell::new(Vec::new());
        let mut tasks = Tasks::new();
        tasks.spawn(fail_once(apis.call(1), &sent));
        tasks.turn();
        // After the failure, it precedes the retry.
        let first = tasks.spawn(async {
            let displaced = apis.call(1).with_priority(priority).acquire().await;
            assert_eq!(displaced.unwrap_err(), Rejection::QueueFull);
        });
        tasks.run(&time, Instant::from_millis(250));
        assert_eq!(apis.waiting(), 2);
        tasks.spawn(served(apis.call(2).with_priority(7).acquire()));
        tasks.run(&time, Instant::from_millis(500));
        assert_eq!((tasks.left(), apis.waiting()), (2 + usize::from(priority > 0), 2));
        tasks.cancel(first);
        tasks.run(&time, Instant::from_secs(10));
        assert_eq!(*sent.borrow(), [0, 1_000], "{priority}");
    }
}

#[test]
fn a_call_that_does_not_wait_wakes_the_one_that_is_first_after_it() {
    let time = Time::begin();
    let apis: KeyedThrottle<NoopRawMutex, u8, Fixed, 1> = KeyedThrottle::seeded(slow(), 7);
    let sent = RefCell::new(Vec::new());
    let mut tasks = Tasks::new();
    tasks.spawn(fail_once(apis.call(1), &sent));
    tasks.turn();
    tasks.spawn(served(apis.call(1).acquire()));
    tasks.run(&time, Instant::from_millis(250));
    assert_eq!(apis.waiting(), 2);
    // New gates know of no failure, so the retry is the first.
    apis.call(2).try_acquire().unwrap().settle(Outcome::Ok);
    time.pass(Duration::from_millis(250));
    let _kept = apis.call(1).with_priority(7).try_acquire().unwrap();
    tasks.run(&time, Instant::from_secs(10));
    assert_eq!((tasks.left(), sent.take()), (0, vec![0, 1_500]));
}

#[test]
fn the_permit_of_an_evicted_key_frees_no_place_of_its_new_gates() {
    type One = KeyedThrottle<NoopRawMutex, u8, Fixed, 1>;
    let evicts: [fn(&One); 2] = [
        |apis| apis.call(2).try_acquire().unwrap().settle(Outcome::Ok),
        |apis| apis.start(slow(), 8),
    ];
    for (evict, settles) in evicts.into_iter().flat_map(|evict| [(evict, true), (evict, false)]) {
        let time = Time::begin();
        let apis = One::seeded(slow(), 7);
        let old = apis.call(1).try_acquire().unwrap();
        let sent = RefCell::new(Vec::new());
        let mut tasks = Tasks::new();
        time.pass(Duration::from_secs(1));
        tasks.spawn(fail_once(apis.call(1), &sent));
        tasks.turn();
        assert_eq!(apis.in_flight(&1), 2);
        time.pass(Duration::from_millis(125));
        evict(&apis);
        let new = apis.call(1).try_acquire().unwrap();
        if settles {
            old.settle(Outcome::Ok)
        } else {
            drop(old)
        }
        assert_eq!(apis.in_flight(&1), 1);
        // A retry frees only its own place, too.
        tasks.run(&time, Instant::from_millis(1_500));
        assert_eq!((tasks.left(), apis.in_flight(&1), apis.waiting()), (1, 1, 1));
        tasks.run(&time, far());
        assert_eq!((tasks.left(), apis.in_flight(&1)), (0, 1));
        new.settle(Outcome::Ok);
        assert_eq!((apis.in_flight(&1), sent.take()), (0, vec![1_000, 2_125]));
    }
}

/// One call a second for each key; retries do not back off.
fn slow() -> &'static Policy<Fixed> {
    leak(every(1).backoff(None))
}

/// A call that takes 250 ms and fails once. Notes when it is sent, in milliseconds.
async fn fail_once<T: Shared<1>>(call: Call<'_, T>, sent: &RefCell<Vec<u64>>) {
    let mut next = failing(1);
    let answer = call.run(async || {
        sent.borrow_mut().push(Instant::now().as_millis());
        Timer::after_millis(250).await;
        next()
    });
    assert_eq!(answer.await, Ok(Outcome::Ok));
}
