//! Servers and clients of mixed traffic do what they say: exact counts.

use tidegate::{Hint, Instant, Outcome, Span};
use tidegate_sim::metric::Metrics;
use tidegate_sim::server::{Refusal, Server};
use tidegate_sim::{Scenario, World};

fn scenario(server: &str, clients: &str, world: &str) -> Scenario {
    let text = format!(
        "end = '100s'\nlatency = {{ constant = '25ms' }}\n{world}\n[server]\n{server}\n[[clients]]\n{clients}\n"
    );
    Scenario::parse(&text, "mixed.toml", "mixed").unwrap()
}

/// Whether calls at these tenths of a second are served, and when a throttled one may be retried,
/// in seconds.
fn answers(server: &str, tenths: &[u64]) -> String {
    let hints = "hints = { retry_after = 'honest' }";
    let world = scenario(&format!("{hints}\n{server}"), "", "");
    let mut server = Server::new(world.server.get_ref(), 1);
    let answer = |tenths: &u64| {
        let answer = server.arrive(Instant::from_nanos(tenths * 100_000_000));
        match answer.outcome {
            Outcome::Ok => "+".into(),
            _ => (answer.hint.retry_after.unwrap().as_nanos() / 1_000_000_000).to_string(),
        }
    };
    tenths.iter().map(answer).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_server_throttles_exactly_the_calls_beyond_its_limits() {
    const WIDE: &str = "bucket = { burst = 1000, rate = '1/d' }";
    let steps =
        "bucket = { burst = 2, start = 1, rate = '4/s', steps = [{ at = '10s', rate = '0.5/s' }] }";
    let clock = "window = { limit = 2, width = '60s', phase = '50s', start = 1 }";
    let credit = "autoscaling = { least = '1/s', most = '1/s', target = 0.7, period = '60s', credit = '3s' }";
    let window = "window = { limit = 2, width = '1s', phase = '0s' }";
    let nested = format!("{window}\nalso = [{{ limit = 3, width = '60s', phase = '0s' }}]");
    let log = "sliding = { limit = 2, width = '10s' }";
    let strict = "sliding = { limit = 2, width = '10s', counts_rejected = true }";
    let counter = "sliding = { limit = 2, width = '10s', counter = true }";
    let late = "sliding = { limit = 2, width = '10s', lag = '1s' }";
    let flight = format!("{WIDE}\nflight = 2\nwork = {{ constant = '3s' }}");
    let ban =
        "bucket = { burst = 1, rate = '1/s' }\nban = { after = 2, within = '5s', length = '9s' }";
    let extended = ban.replace("'9s'", "'9s', extends = true");
    for (server, tenths, expected) in [
        // A fifth of a token is missing at the step. The next whole one takes two seconds.
        (steps, &[0, 2, 3, 98, 98, 103, 104, 123, 124][..], "+ 1 + + + 1 + 1 +"),
        // A call is left in the first window, which ends after 10 s.
        (clock, &[0, 90, 100, 101, 102, 700], "+ 1 + + 60 +"),
        (credit, &[0, 0, 0, 0, 10], "+ + + 1 +"),
        // The minute's limit is full after three calls, although the second's is not.
        (nested.as_str(), &[0, 1, 2, 10, 11, 599, 600, 601], "+ + 1 + 59 1 + +"),
        (log, &[0, 40, 50, 99, 100, 110, 140], "+ + 5 1 + 3 +"),
        // The call at 5 s counts, so one at 10 s finds two: at 4 s and 5 s.
        (strict, &[0, 40, 50, 100, 140, 260], "+ + 9 5 6 +"),
        // The first window counts in full at first, and by a half after 5 s.
        (counter, &[0, 1, 2, 100, 149, 150, 151, 300, 301], "+ + 10 5 1 + 5 + +"),
        // Two calls are seen a second later; until then more are served.
        (late, &[0, 5, 9, 14, 15, 109, 110, 130], "+ + + + 11 1 1 +"),
        (&flight, &[0, 1, 2, 29, 30, 31, 32], "+ + 3 1 + + 3"),
        // Two throttled calls in 5 s cost 9 s. Two in 6 s do not.
        (ban, &[0, 1, 61, 62, 122, 123, 124, 150, 213, 214], "+ 1 + 1 + 1 9 7 1 +"),
        (&extended, &[0, 1, 2, 50, 92, 182], "+ 1 9 9 9 +"),
    ] {
        assert_eq!(answers(server, tenths), expected, "{server}");
    }
}

#[test]
fn a_connection_meets_only_the_limit_of_its_node() {
    let world = scenario("nodes = 3\nbucket = { burst = 2, rate = '1/s' }", "", "");
    let mut server = Server::new(world.server.get_ref(), 1);
    let mut served = |connection| {
        server.reach(connection);
        server.arrive(Instant::ZERO).outcome == Outcome::Ok
    };
    let expected = [(0, true), (3, true), (0, false), (1, true), (6, false), (4, true), (7, false)];
    for (connection, serves) in expected {
        assert_eq!(served(connection), serves, "{connection}");
    }
    let second = Instant::from_nanos(1_000_000_000);
    assert_eq!((server.level(second), server.rate_at(second)), (1.0 + 1.0 + 2.0, 3.0));
    assert_eq!(server.capacity(Instant::ZERO, second, None), 9.0);
}

#[test]
fn a_true_hint_is_true_although_a_call_does_not_reach_its_limit() {
    const HINTS: &str =
        "hints = { retry_after = 'honest', remaining = 'honest', reset = 'honest' }";
    let bucket = format!("{HINTS}\nbucket = {{ burst = 4, rate = '1/s' }}");
    let queue = format!("{HINTS}\nqueue = {{ workers = 1, places = 3, service = '1us' }}");
    let ban = format!("{bucket}\nban = {{ after = 1, within = '1s', length = '9s' }}");
    let flight = format!("{bucket}\nflight = 4\nwork = {{ constant = '7s' }}");
    let also = format!("{bucket}\nalso = [{{ limit = 4, width = '8s', phase = '0s' }}]");
    // After four calls at 0 s that are served: seconds until a retry, remaining calls, and seconds
    // until it is full.
    for (server, second, expected) in [
        (&bucket, 3, [Some(0), Some(3), Some(1)]),
        (&queue, 3, [Some(0), Some(4), None]),
        (&flight, 3, [Some(4), Some(3), Some(1)]),
        (&also, 3, [Some(5), Some(0), Some(1)]),
        // The ban began with a fifth call.
        (&ban, 3, [Some(6), Some(0), Some(1)]),
        (&ban, 9, [Some(0), Some(4), Some(0)]),
    ] {
        let world = scenario(server, "", "");
        let mut server = Server::new(world.server.get_ref(), 1);
        let calls = 4 + usize::from(world.server.get_ref().ban.is_some());
        let served = |_: &usize| server.arrive(Instant::ZERO).outcome == Outcome::Ok;
        assert_eq!((0..calls).filter(served).count(), 4);
        let hint =
            server.refuse(Instant::from_nanos(second * 1_000_000_000), Refusal::TooLarge).hint;
        let seconds = |span: Option<Span>| span.map(|span| span.as_nanos() / 1_000_000_000);
        let told = [seconds(hint.retry_after), hint.remaining, seconds(hint.reset)];
        assert_eq!(told, expected, "{world:?}");
    }
}

#[test]
fn a_hint_is_true_skewed_false_or_absent() {
    let (seconds, window) =
        (Span::from_secs, "window = { limit = 7, width = '60s', phase = '50s' }");
    let bucket = "bucket = { burst = 4500, start = 4499, rate = '4500/h' }";
    let honest = "remaining = 'honest', reset = 'honest', quota = 'honest'";
    let skewed = "reset = { times = 3.0 }, quota = { times = 0.5 }";
    let lies = "reset = { always = '99s' }, quota = { always = { limit = 1, period = '2s' } }";
    let quota =
        |limit, period, reset| Hint::quota(limit, seconds(period)).and_reset(seconds(reset));
    // After a call at 0 s. Two calls are missing in the bucket then, which takes 1.6 s.
    for (server, hints, expected) in [
        (window, honest, quota(7, 60, 10).and_remaining(6)),
        (window, skewed, quota(3, 60, 30)),
        (window, lies, quota(1, 2, 99)),
        (bucket, honest, quota(4_500, 3_600, 2).and_remaining(4_498)),
        (bucket, skewed, quota(2_250, 3_600, 5)),
        // Only a throttled call is told when to retry.
        (bucket, "retry_after = 'honest'", Hint::NONE),
    ] {
        let world = scenario(&format!("hints = {{ {hints} }}\n{server}"), "", "");
        let mut server = Server::new(world.server.get_ref(), 1);
        assert_eq!(server.arrive(Instant::ZERO).hint, expected, "{hints}");
    }
}

/// The metrics of clients without a law, all of whose calls take 50 ms.
fn run(server: &str, clients: &str, world: &str) -> Metrics {
    let scenario = scenario(server, clients, world);
    World::new(&scenario, "none", 1).unwrap().run().unwrap().metrics
}

fn counts(metrics: &Metrics) -> [u64; 3] {
    ["calls", "throttles", "lost"].map(|name| metrics.get(name).unwrap() as u64)
}

const FULL: &str = "bucket = { burst = 1000000, rate = '1/d' }";

#[test]
fn random_rejections_take_nothing_from_the_limit() {
    let faults = "faults = [{ to = '100s', share = 0.25, reply = 'throttled' }]";
    let server = format!("{faults}\nbucket = {{ burst = 300, rate = '1/d' }}");
    // 300 calls are served, although about a hundred are rejected before that.
    let metrics = run(&server, "demand = { work = 300 }", "stop_when_work_is_done = true");
    let [calls, rejected, lost] = counts(&metrics);
    assert_eq!((calls - rejected, lost), (300, 0));
    // Within four standard deviations.
    assert!((60..=140).contains(&rejected), "{rejected}");
}

#[test]
fn a_fault_affects_the_calls_that_arrive_during_its_time() {
    let fault =
        "faults = [{ from = '10s', to = '20s', share = 1.0, delay = '3s', reply = 'busy' }]";
    let [calls, refused, lost] = counts(&run(&format!("{fault}\n{FULL}"), "", ""));
    // A call of 50 ms follows the other, but those at 10, 13, 16 and 19 s take 3 s longer.
    assert_eq!((refused, lost), (4, 0));
    assert!((1_755..=1_762).contains(&calls), "{calls}");
}

#[test]
fn a_bad_call_is_never_served_and_given_up_after_its_tries() {
    for (reply, share, tries, expected) in [
        ("throttled", 1.0, 3, [300, 300, 100]),
        ("failed", 1.0, 1, [300, 300, 300]),
        ("too_large", 1.0, 4, [300, 300, 75]),
    ] {
        let bad = format!("tries = {tries}\nbad = {{ share = {share}, reply = '{reply}' }}");
        let metrics = run(FULL, &bad, "stop_after_calls = 300");
        // The last call is given up when its answer is back, after the end.
        let [calls, rejected, lost] = expected;
        assert_eq!(counts(&metrics), [calls, rejected, lost - 1], "{reply}");
    }
    // Others are not affected.
    let bad = "tries = 2\nbad = { share = 0.01, reply = 'failed' }\ndemand = { work = 1000 }";
    let [calls, rejected, lost] = counts(&run(FULL, bad, "stop_when_work_is_done = true"));
    assert_eq!((calls - rejected, rejected), (1_000, 2 * lost));
}

#[test]
fn calls_by_cron_arise_in_rounds_and_queue_at_the_client() {
    let cron = "demand = { cron = { calls = 30, every = '30s' } }";
    let metrics = run(FULL, cron, "");
    // Rounds at 0, 30, 60 and 90 s, of calls that take 50 ms, one after the other.
    assert_eq!(counts(&metrics), [120, 0, 0]);
    let mean = metrics.get("latency_mean_ms").unwrap();
    assert!((775.0..=785.0).contains(&mean), "{mean}");
}

#[test]
fn the_least_share_is_relative_to_an_even_one() {
    // One thread makes 20 calls a second, and three make 60: half of an even share of 80.
    let server = "bucket = { burst = 9000, rate = '80/s' }";
    let stretch = "name = 'both'\nfrom = '10s'\nto = '90s'\nshow = ['least']";
    let clients = format!("[[clients]]\nthreads = 3\n[[stretch]]\n{stretch}");
    let least = run(server, &clients, "").get("both_least").unwrap();
    assert!((least - 0.5).abs() < 0.001, "{least}");
}

/// Published of `nall-aimd` are 90 % used, 56 throttled calls and 8 s. Where it starts is not.
#[test]
fn a_peer_comes_near_to_what_its_source_publishes_in_its_scenario() {
    let scenario = Scenario::read("scenarios/orders.toml".as_ref()).unwrap();
    let metrics = World::new(&scenario, "nall-aimd", 1).unwrap().run().unwrap().metrics;
    let [used, throttles, down] =
        ["util", "throttles", "down_s"].map(|it| metrics.get(it).unwrap());
    assert!((0.8..=0.95).contains(&used), "{used} used");
    assert!((40.0..=100.0).contains(&throttles), "{throttles} throttled");
    assert!((4.0..=10.0).contains(&down), "{down} s");
}
