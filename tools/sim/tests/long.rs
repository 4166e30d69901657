//! Long runs of clients that are told `Retry-After` in whole seconds: each hit costs them a second.

use rayon::prelude::*;
use tidegate_sim::{Scenario, World};

/// The median of both metrics over twelve seeds, after twenty minutes.
fn median(server: &str, clients: &str, metrics: [&str; 2]) -> [f64; 2] {
    let text = format!(
        "end = '20min'\nbin = '10s'\nlatency = {{ constant = '25ms' }}\n\
         [server]\n{server}\nhints = {{ retry_after = 'honest' }}\n[[clients]]\n{clients}\ndemand = 'closed'\n"
    );
    let scenario = Scenario::parse(&text, "long.toml", "long").unwrap();
    let runs: Vec<[f64; 2]> = (1..=12)
        .into_par_iter()
        .map(|seed| {
            let all = World::new(&scenario, "adaptive", seed).unwrap().run().unwrap().metrics;
            metrics.map(|name| all.get(name).unwrap())
        })
        .collect();
    [0, 1].map(|at| {
        let mut values: Vec<f64> = runs.iter().map(|run| run[at]).collect();
        values.sort_by(f64::total_cmp);
        values[6]
    })
}

#[test]
fn clients_that_are_told_retry_after_use_the_limit_and_share_it_fairly() {
    let second = "window = { limit = 30, width = '1s' }";
    let [used, throttled] = median(second, "threads = 16", ["util", "throttled"]);
    assert!(used >= 0.945 && throttled <= 0.003, "{used} used, {throttled} throttled");
    for server in
        ["bucket = { burst = 20, rate = '60/s' }", "window = { limit = 600, width = '10s' }"]
    {
        let [used, fair] = median(server, "processes = 8\nthreads = 8", ["util", "jain_process"]);
        assert!(used >= 0.97 && fair >= 0.88, "{used} used, Jain's index {fair} before {server}");
    }
}
