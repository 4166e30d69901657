//! Pacing over an hour of virtual time.

use tidegate_embassy_host::*;

#[test]
fn calls_are_sent_within_a_tick_after_their_time_with_one_poll_each() {
    // Seven a second is not a multiple of any tick rate.
    let time = Time::begin();
    let seven = Quota::per_second(7).unwrap();
    let throttle = throttle_of::<_, 4>(Policy::new(Fixed::new(seven)));
    let mut tasks = Tasks::new();
    tasks.spawn(async {
        served(throttle.acquire()).await;
        let first = Instant::now();
        // An interval is rounded up to the nanosecond, and ticks do not add to that.
        for call in 1..5_000 {
            served(throttle.acquire()).await;
            let ticks = u128::from((Instant::now() - first).as_ticks());
            let due = call * u128::from(TICK_HZ);
            assert!(ticks * 7 >= due, "{ticks} ticks are less than {call} sevenths of a second");
            let interval = u128::from(seven.interval().as_nanos());
            let exact = call * interval * u128::from(TICK_HZ);
            let before = (ticks - 1) * 1_000_000_000;
            assert!(before < exact, "{ticks} ticks are more than necessary");
        }
    });
    tasks.run(&time, far());
    assert_eq!(tasks.left(), 0);
    assert!(tasks.polls() <= 5_000 + 1, "{} polls", tasks.polls());
}

/// A server that serves five calls a second and sends Retry-After.
struct Server {
    limit: RefCell<Window>,
    delivered: RefCell<Vec<u32>>,
    throttled: Cell<u32>,
    /// The end of its cooldown.
    quiet: Cell<Instant>,
    disturbed: Cell<u32>,
}

impl Server {
    async fn post(&self, batch: u32) -> Reply {
        if Instant::now() < self.quiet.get() {
            self.disturbed.set(self.disturbed.get() + 1);
        }
        Timer::after_millis(20).await;
        let now = Instant::now();
        let out = (120..140).contains(&now.as_secs());
        let reply = if out {
            Outcome::Busy.with(Hint::NONE)
        } else if !self.limit.borrow_mut().take(now.as_ticks(), 1) {
            self.throttled.set(self.throttled.get() + 1);
            Outcome::Throttled.with(Hint::retry_after(Span::from_secs(1)))
        } else {
            self.delivered.borrow_mut().push(batch);
            Outcome::Ok.into()
        };
        Timer::after_millis(20).await;
        if reply.outcome == Outcome::Throttled {
            self.quiet.set(Instant::now() + Duration::from_secs(1));
        }
        reply
    }
}

#[test]
fn two_thousand_batches_arrive_once_each_despite_a_limit_and_an_outage() {
    let time = Time::begin();
    let uplink = throttle_of::<_, 4>(Policy::adaptive().attempts(None));
    let server = Server {
        limit: RefCell::new(Window::new(5, TICK_HZ)),
        delivered: RefCell::default(),
        throttled: Cell::new(0),
        quiet: Cell::new(Instant::MIN),
        disturbed: Cell::new(0),
    };
    let queue = Cell::new(0);
    let mut tasks = Tasks::new();
    for _ in 0..3 {
        tasks.spawn(async {
            while queue.get() < 2_000 {
                let batch = queue.replace(queue.get() + 1);
                let reply = uplink.run(async || server.post(batch).await).await.unwrap();
                assert_eq!(reply.outcome, Outcome::Ok);
            }
        });
    }
    tasks.run(&time, far());
    assert_eq!(tasks.left(), 0);
    let mut delivered = server.delivered.take();
    delivered.sort_unstable();
    assert_eq!(delivered, (0..2_000).collect::<Vec<_>>());
    let throttled = server.throttled.get();
    assert!(throttled <= 100, "{throttled} of 2000 calls were throttled");
    assert_eq!(server.disturbed.get(), 0, "calls were sent during a cooldown");
    // The rate depends on the law. This only checks that no task was forgotten.
    assert!(Instant::now().as_secs() < 3_600, "it took {} s", Instant::now().as_secs());
}
