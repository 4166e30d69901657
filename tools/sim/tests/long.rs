//! Long runs: of clients that are told `Retry-After` in whole seconds, where each hit costs a second, and of clients that
//! are told nothing.

use rayon::prelude::*;
use tidegate_sim::{Scenario, World};

/// Both metrics of `adaptive` after an hour, for each of twelve seeds.
fn runs(server: &str, clients: &str, metrics: [&str; 2]) -> Vec<[f64; 2]> {
    let text = format!(
        "end = '1h'\nbin = '60s'\nlatency = {{ constant = '25ms' }}\n\
         [server]\n{server}\n[[clients]]\n{clients}\ndemand = 'closed'\n"
    );
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
    for [used, throttled] in runs(&second, "threads = 16", ["util", "throttled"]) {
        assert!(used >= 0.94 && throttled <= 0.003, "{used} used, {throttled} throttled");
    }
    for (server, least) in [
        ("bucket = { burst = 20, rate = '60/s' }", 0.75),
        ("window = { limit = 2400, width = '60s' }", 0.95),
    ] {
        let server = &format!("{server}{TOLD}");
        for [used, fair] in runs(server, "processes = 8\nthreads = 8", ["util", "jain_process"]) {
            let what = format!("{used} used, Jain's index {fair} before {server}");
            assert!(used >= 0.97 && fair >= least, "{what}");
        }
    }
}

#[test]
fn clients_that_are_told_nothing_share_a_window_of_a_minute() {
    let window = "window = { limit = 1000, width = '60s' }";
    let metrics = ["util", "jain_process"];
    for [used, fair] in runs(window, "processes = 8\nthreads = 8", metrics) {
        assert!(used >= 0.97 && fair >= 0.6, "{used} used, Jain's index {fair}");
    }
}
