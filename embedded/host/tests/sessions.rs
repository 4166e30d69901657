//! Sessions with a broker: how often they are opened, and how much is in flight in them.

use std::sync::atomic::{AtomicU64, Ordering};

use tidegate::Ratio;
use tidegate::backoff::{Backoff, Growth, Jitter};
use tidegate_embassy_host::*;

type Supervisor = Sessions<NoopRawMutex>;

#[test]
fn a_restored_link_admits_the_next_attempt_at_once() {
    let time = Time::begin();
    let sessions = Supervisor::new(|| 7);
    let attempts = RefCell::new(Vec::new());
    let mut tasks = Tasks::new();
    tasks.spawn(async {
        loop {
            let _connection = sessions.connect().await;
            attempts.borrow_mut().push(Instant::now());
        }
    });
    tasks.run(&time, Instant::from_secs(1_000));
    let before = attempts.borrow().len();
    sessions.link_up();
    tasks.turn();
    assert_eq!(attempts.borrow()[before..], [Instant::from_secs(1_000)]);
}

/// 120 devices lose their broker after ten minutes. It serves 2.5 handshakes a second, one after the other, and drops
/// those for which 30 seconds of work wait. Devices give up after ten seconds. Returns after how many seconds the
/// last one is back, and the number of attempts.
fn storm(spread: Duration) -> (u64, u64) {
    const LOST: Instant = Instant::from_secs(600);
    const GIVE_UP: Duration = Duration::from_secs(10);
    let time = Time::begin();
    let seed = || {
        static DEVICE: AtomicU64 = AtomicU64::new(1);
        DEVICE.fetch_add(1, Ordering::Relaxed)
    };
    let devices = [(); 120].map(|()| Supervisor::new(seed).with_spread(spread));
    let (free, last, attempts) = (Cell::new(LOST), Cell::new(LOST), Cell::new(0));
    let mut tasks = Tasks::new();
    for device in &devices {
        let (free, last, attempts) = (&free, &last, &attempts);
        tasks.spawn(async move {
            let connection = device.connect().await;
            connection.open();
            Timer::at(LOST).await;
            drop(connection);
            loop {
                let connection = device.connect().await;
                attempts.set(attempts.get() + 1);
                let now = Instant::now();
                let start = free.get().max(now);
                if start > now + Duration::from_secs(30) {
                    continue;
                }
                // A handshake that the device gives up costs the broker its time all the same.
                let ready = start + Duration::from_millis(400);
                free.set(ready);
                if ready <= now + GIVE_UP {
                    Timer::at(ready).await;
                    connection.open();
                    last.set(ready);
                    return;
                }
                Timer::at(now + GIVE_UP).await;
            }
        });
    }
    tasks.run(&time, far());
    (last.get().as_secs() - LOST.as_secs(), attempts.get())
}

#[test]
fn a_fleet_that_loses_its_broker_is_back_soon_after_the_spread() {
    let (back, attempts) = storm(Duration::from_secs(60));
    assert!(back <= 80 && attempts <= 150, "back after {back} s, {attempts} attempts");
    let (late, more) = storm(Duration::from_secs(0));
    println!("with a spread: {back} s, {attempts} attempts; without: {late} s, {more}");
    assert!(late > 2 * back && more > 3 * attempts, "back after {late} s, {more} attempts");
}

/// When a device writes its record.
#[derive(Clone, Copy, PartialEq)]
enum Keeps {
    Never,
    BeforeSleep,
    /// Before each attempt. The broker accepts the session, and the device crashes in it.
    BeforeEach,
}

/// A device that is awake for 20 s in each five minutes, and has no broker unless it crashes. Returns how often it tries
/// to connect in a day.
fn tries(longest: u64, keeps: Keeps) -> usize {
    let [base, longest] = [1, longest].map(Span::from_secs);
    let growth = Growth::Exponential(Ratio::new(2, 1).unwrap());
    let backoff = Backoff::new(growth, Jitter::Equal, base, longest).unwrap();
    let (mut record, tries, kept) = ([0; Supervisor::RECORD_BYTES], Cell::new(0), Cell::new(0));
    for wake in (0..86_400).step_by(300) {
        let time = Time::begin();
        let sessions = Supervisor::with_backoff(backoff, Duration::from_secs(60), || 7);
        let restored = sessions.wake_up(&record, Duration::from_secs(wake - kept.get()));
        assert_eq!(restored.is_ok(), keeps != Keeps::Never && wake > 0);
        let mut tasks = Tasks::new();
        tasks.spawn(async {
            loop {
                let connection = sessions.connect().await;
                tries.set(tries.get() + 1);
                if keeps == Keeps::BeforeEach {
                    sessions.record(&mut record).unwrap();
                    kept.set(wake + Instant::now().as_secs());
                    connection.open();
                }
                Timer::after_secs(8).await;
            }
        });
        tasks.run(&time, Instant::from_secs(20));
        drop(tasks);
        if keeps == Keeps::BeforeSleep {
            assert_eq!(sessions.record(&mut record), Ok(record.len()));
            kept.set(wake + 20);
        }
    }
    tries.get()
}

#[test]
fn a_device_that_sleeps_or_crashes_keeps_its_backoff_in_a_record() {
    let [without, sleeps] = [Keeps::Never, Keeps::BeforeSleep].map(|keeps| tries(120, keeps));
    let [long, crashes] = [Keeps::BeforeSleep, Keeps::BeforeEach].map(|keeps| tries(3_600, keeps));
    println!("{without}, {sleeps}, {long}, {crashes}");
    assert!(without >= 3 * 288 && (288..300).contains(&sleeps), "{without}, {sleeps}");
    assert!((24..=50).contains(&long) && (24..=50).contains(&crashes), "{long}, {crashes}");
}

#[test]
fn a_start_is_jittered_and_dropping_the_task_ends_the_connection() {
    let time = Time::begin();
    let sessions = Supervisor::new(|| 7);
    sessions.spread_start(Duration::from_secs(100));
    let connected = Cell::new(Instant::MIN);
    let connect = async || {
        let connection = sessions.connect().await;
        connected.set(Instant::now());
        connection.open();
        Timer::after_secs(1_000).await;
    };
    let mut tasks = Tasks::new();
    // Two tasks that connect do not wake each other.
    let both = [(); 2].map(|()| tasks.spawn(connect()));
    tasks.run(&time, Instant::from_secs(100));
    assert!(connected.get() > Instant::MIN);
    assert!(tasks.polls() <= 10, "{} polls", tasks.polls());
    time.pass(Duration::from_secs(100));
    both.iter().for_each(|task| tasks.cancel(*task));
    tasks.spawn(connect());
    tasks.run(&time, far());
    assert!(connected.get() > Instant::from_secs(200));
}

#[test]
fn the_limit_of_the_broker_is_kept_with_any_delay_of_acknowledgements() {
    let time = Time::begin();
    let uplink = throttle_of::<_, 8>(Policy::adaptive());
    uplink.set_concurrency(NonZeroU16::new(2).unwrap());
    let (in_flight, most, published) = (Cell::new(0), Cell::new(0), Cell::new(0));
    let mut tasks = Tasks::new();
    for task in 0..6 {
        let (uplink, in_flight, most, published) = (&uplink, &in_flight, &most, &published);
        tasks.spawn(async move {
            for message in 0..50 {
                let sent = uplink.run(async || {
                    in_flight.set(in_flight.get() + 1);
                    most.set(most.get().max(in_flight.get()));
                    // Some acknowledgements take minutes, and one of them an hour.
                    let kept = if (message + task) % 5 == 0 { 120 } else { 1 };
                    Timer::after_secs(if message == 40 { 3_600 } else { kept }).await;
                    in_flight.set(in_flight.get() - 1);
                });
                assert_eq!(sent.await, Ok(()));
                published.set(published.get() + 1);
            }
        });
    }
    tasks.run(&time, far());
    assert_eq!((published.get(), most.get()), (300, 2));
}

#[test]
fn permits_lost_with_a_session_come_back() {
    let _time = Time::begin();
    let uplink = throttle_of::<_, 4>(Policy::adaptive());
    uplink.set_concurrency(NonZeroU16::new(2).unwrap());
    std::mem::forget(uplink.try_acquire().unwrap());
    let late = uplink.try_acquire().unwrap();
    assert!(uplink.try_acquire().is_none());
    let mut tasks = Tasks::new();
    tasks.spawn(async { std::mem::forget(uplink.acquire().await.unwrap()) });
    tasks.turn();
    assert_eq!((tasks.left(), uplink.in_flight()), (1, 2));
    uplink.forget_in_flight();
    tasks.turn();
    assert_eq!((tasks.left(), uplink.in_flight()), (0, 1));
    // A permit of the former session frees no place of this one.
    late.settle(Outcome::Ok);
    assert_eq!(uplink.in_flight(), 1);
    assert!(uplink.try_acquire().is_some());
}
