//! Calls that state no cost, to a server that reports the cost of each afterwards.

use tidegate_embassy::refined;
use tidegate_embassy_host::*;
use tidegate_limits::Bucket;

type Gate = Throttle<NoopRawMutex, Adaptive, 16, 2, [u32; 2]>;

fn gate() -> Gate {
    Throttle::seeded(leak(Policy::of([Adaptive::DEFAULT; 2]).backoff(None)), 7)
}

/// Shopify's GraphQL Admin API: a bucket of 1000 points, filled with 50 a second. A query takes 40.
struct Server {
    points: RefCell<Bucket>,
    served: Cell<u32>,
    throttled: Cell<u32>,
}

impl Server {
    const COST: u64 = 40;

    fn new() -> Self {
        let points = RefCell::new(Bucket::new(50, TICK_HZ, 1_000));
        Self { points, served: Cell::new(0), throttled: Cell::new(0) }
    }

    async fn query(&self) -> Reply<2> {
        Timer::after_millis(30).await;
        let is_served = self.points.borrow_mut().take(Instant::now().as_ticks(), Self::COST);
        let left = self.points.borrow().remaining();
        let count = if is_served { &self.served } else { &self.throttled };
        count.set(count.get() + 1);
        let error =
            if is_served { "" } else { r#""errors":[{"extensions":{"code":"THROTTLED"}}],"# };
        let actual = if is_served { r#""actualQueryCost":40,"# } else { "" };
        let body = format!(
            r#"{{{error}"extensions":{{"cost":{{"requestedQueryCost":40,{actual}"throttleStatus":{{"maximumAvailable":1000.0,"currentlyAvailable":{left},"restoreRate":50.0}}}}}}}}"#
        );
        Timer::after_millis(30).await;
        refined(Outcome::Ok.into(), 200, body.as_bytes())
    }
}

#[test]
fn tasks_that_state_no_cost_use_a_bucket_of_points_and_are_hardly_throttled() {
    let time = Time::begin();
    let (gate, server) = (gate(), Server::new());
    let mut tasks = Tasks::new();
    for _ in 0..8 {
        tasks.spawn(async {
            for _ in 0..100 {
                let reply = gate.run(async || server.query().await).await.unwrap();
                assert_eq!(reply.outcome, Outcome::Ok);
            }
        });
    }
    tasks.run(&time, far());
    assert_eq!((tasks.left(), server.served.get()), (0, 800));
    // 32,000 points, of which 1000 are there at first.
    let seconds = Instant::now().as_secs();
    assert!(seconds < 660, "{seconds} s for what takes 620");
    assert!(server.throttled.get() <= 40, "{} of 800 throttled", server.throttled.get());
}

#[test]
fn below_the_limit_calls_that_state_no_cost_do_not_wait() {
    let time = Time::begin();
    let (gate, server) = (gate(), Server::new());
    let mut tasks = Tasks::new();
    tasks.spawn(async {
        for call in 0..300 {
            let began = Instant::now();
            assert_eq!(gate.run(async || server.query().await).await.unwrap().outcome, Outcome::Ok);
            let took = Instant::now() - began;
            assert!(took <= Duration::from_millis(61), "call {call} took {took:?}");
            Timer::after_secs(1).await;
        }
    });
    tasks.run(&time, far());
    assert_eq!((tasks.left(), server.throttled.get()), (0, 0));
}
