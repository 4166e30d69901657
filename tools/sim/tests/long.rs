//! Long runs: of clients that are told `Retry-After` in whole seconds, where each hit costs a second, and of clients that
//! are told nothing.

use rayon::prelude::*;
use tidegate_sim::{Scenario, World};

const HOUR: &str = "end = '1h'\nlatency = { constant = '25ms' }";

/// Both metrics of `adaptive`, for each of twelve seeds.
fn runs(length: &str, server: &str, clients: &str, metrics: [&str; 2]) -> Vec<[f64; 2]> {
    let text = format!("{length}\nbin = '60s'\n[server]\n{server}\n[[clients]]\n{clients}\n");
    let scenario = Scenario::parse(&text, "long.toml", "long").unwrap();
    let run = |seed| World::new(&scenario, "adaptive", seed).unwrap().run().unwrap().metrics;
    let seeds = (1..=12).into_par_iter();
    seeds
        .map(|seed| {
            let all = run(seed);
            metrics.map(|name| all.get(name).unwrap())
        })
        .collect()
}

#[test]
fn clients_that_are_told_retry_after_use_the_limit_and_share_it_fairly() {
    const TOLD: &str = "\nhints = { retry_after = 'honest' }";
    let second = format!("window = {{ limit = 30, width = '1s' }}{TOLD}");
    for [used, throttled] in runs(HOUR, &second, "threads = 16", ["util", "throttled"]) {
        assert!(used >= 0.94 && throttled <= 0.003, "{used} used, {throttled} throttled");
    }
    for (server, least) in [
        ("bucket = { burst = 20, rate = '60/s' }", 0.75),
        ("window = { limit = 2400, width = '60s' }", 0.95),
    ] {
        let server = &format!("{server}{TOLD}");
        for [used, fair] in
            runs(HOUR, server, "processes = 8\nthreads = 8", ["util", "jain_process"])
        {
            let what = format!("{used} used, Jain's index {fair} before {server}");
            assert!(used >= 0.97 && fair >= least, "{what}");
        }
    }
}

#[test]
fn clients_that_are_told_nothing_share_a_window_of_a_minute() {
    let window = "window = { limit = 1000, width = '60s' }";
    let metrics = ["util", "jain_process"];
    for [used, fair] in runs(HOUR, window, "processes = 8\nthreads = 8", metrics) {
        assert!(used >= 0.97 && fair >= 0.6, "{used} used, Jain's index {fair}");
    }
}

#[test]
fn a_client_that_is_told_nothing_uses_each_of_three_windows() {
    let server = "also = [{ limit = 1019, width = '60s' }, { limit = 5000, width = '1h' }]\n\
                  window = { limit = 36, width = '1s' }";
    let length = "end = '8h'\nlatency = { constant = '146ms' }";
    for [used, throttled] in runs(length, server, "threads = 22", ["ss_util", "throttled"]) {
        assert!(used >= 0.95 && throttled <= 0.03, "{used} used, {throttled} throttled");
    }
}

#[test]
fn clients_keep_to_a_limit_on_calls_in_flight_and_take_no_random_rejections_for_one() {
    for (server, clients, least, most) in [
        (
            "queue = { workers = 8, places = 0, service = '500ms' }",
            "processes = 4\nthreads = 6",
            0.87,
            0.02,
        ),
        (
            "queue = { workers = 4, places = 0, service = '500ms' }",
            "processes = 4\nthreads = 3",
            0.87,
            0.05,
        ),
        (
            "faults = [{ to = '1h', share = 0.08, reply = 'busy' }]\nbucket = { burst = 99, rate = '200/s' }",
            "threads = 8",
            0.68,
            0.085,
        ),
    ] {
        for [used, throttled] in runs(HOUR, server, clients, ["util", "throttled"]) {
            let what = format!("{used} used, {throttled} throttled before {server}");
            assert!(used >= least && throttled <= most, "{what}");
        }
    }
}

#[test]
fn a_client_finds_a_limit_on_calls_in_flight_that_looks_like_one_on_the_rate() {
    for (server, least) in [
        ("flight = 4\nwork = { exponential = '1s' }\nbucket = { burst = 20, rate = '10/s' }", 0.9),
        (
            "flight = 4\nwork = { uniform = ['0.5s', '1.5s'] }\nbucket = { burst = 20, rate = '10/s' }",
            0.9,
        ),
        (
            "flight = 8\nwork = { exponential = '0.2s' }\nbucket = { burst = 30, rate = '30/s' }",
            0.85,
        ),
    ] {
        for [used, throttled] in runs(HOUR, server, "threads = 16", ["ss_util", "ss_throttled"]) {
            let what = format!("{used} used, {throttled} throttled before {server}");
            assert!(used >= least && throttled <= 0.03, "{what}");
        }
    }
}

#[test]
fn calls_of_a_client_that_requests_little_seldom_wait_after_rejections() {
    const FAULTS: &str = "faults = [{ share = 0.01, to = '6h', reply = 'throttled' }]";
    const TOLD: &str = "hints = { retry_after = 'honest', remaining = 'honest', reset = 'honest' }";
    let light = "threads = 4\ndemand = { poisson = '15/min' }\ntries = 4";
    let rises = "demand = { poisson = '3/min' }\nsteady = true\nsteps = [{ at = '10000s', rate = '2/s' }, { at = \
                 '12000s', rate = '3/min' }]";
    // How long a call waits on average in eleven of twelve runs.
    for (end, server, clients, most) in [
        ("2h", format!("{FAULTS}\nbucket = {{ burst = 100, rate = '100/s' }}"), light, 10.0),
        ("20000s", format!("{FAULTS}\nbucket = {{ burst = 20, rate = '4/s' }}"), rises, 60.0),
        (
            "1h",
            format!("{FAULTS}\n{TOLD}\nbucket = {{ burst = 100, rate = '100/s' }}"),
            "threads = 4\ndemand = { poisson = '15/s' }",
            10.0,
        ),
        (
            "4500s",
            "bucket = { burst = 2, rate = '2.8/s' }".into(),
            "processes = 23\ndemand = { cron = { calls = 1, every = '114s' } }",
            25.0,
        ),
    ] {
        let length = format!("end = '{end}'\nlatency = {{ constant = '25ms' }}");
        let mut means = Vec::from_iter(
            runs(&length, &server, clients, ["latency_mean_ms", "util"]).iter().map(|it| it[0]),
        );
        means.sort_by(f64::total_cmp);
        assert!(means[10] <= most * 1000.0, "{means:?} ms before {server}");
    }
}
