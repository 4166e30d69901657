//! Long runs of clients that are told `Retry-After` in whole seconds: each hit costs them a second.

use rayon::prelude::*;
use tidegate_sim::{Scenario, World};

/// Both metrics of `adaptive` after an hour, for each of twelve seeds.
fn runs(server: &str, clients: &str, metrics: [&str; 2]) -> Vec<[f64; 2]> {
    let text = format!(
        "end = '1h'\nbin = '60s'\nlatency = {{ constant = '25ms' }}\n\
         [server]\n{server}\nhints = {{ retry_after = 'honest' }}\n[[clients]]\n{clients}\ndemand = 'closed'\n"
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
    let second = "window = { limit = 30, width = '1s' }";
    for [used, throttled] in runs(second, "threads = 16", ["util", "throttled"]) {
        assert!(used >= 0.94 && throttled <= 0.003, "{used} used, {throttled} throttled");
    }
    for (server, least) in [
        ("bucket = { burst = 20, rate = '60/s' }", 0.75),
        ("window = { limit = 2400, width = '60s' }", 0.95),
    ] {
        for [used, fair] in runs(server, "processes = 8\nthreads = 8", ["util", "jain_process"]) {
            let what = format!("{used} used, Jain's index {fair} before {server}");
            assert!(used >= 0.97 && fair >= least, "{what}");
        }
    }
}
