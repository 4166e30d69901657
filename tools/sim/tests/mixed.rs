//! Servers and clients of mixed traffic do what they say: exact counts.

use tidegate_sim::metric::Metrics;
use tidegate_sim::{Scenario, World};

/// The metrics of clients without a law, all of whose calls take 50 ms.
fn run(server: &str, clients: &str, world: &str) -> Metrics {
    let text = format!(
        "end = '100s'\nlatency = {{ constant = '25ms' }}\n{world}\n[server]\n{server}\n[[clients]]\n{clients}\n"
    );
    let scenario = Scenario::parse(&text, "mixed.toml", "mixed").unwrap();
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
