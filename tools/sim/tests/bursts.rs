//! Bursts: 300 calls at once against limits with a stock of calls and a slow refill, and fleets that start together.

use rayon::prelude::*;
use tidegate_sim::{Scenario, World};

/// Servers, and the seconds in which one client that knows the rule would be served. Most are limits of providers.
const SERVERS: [(&str, f64); 12] = [
    ("bucket = { burst = 25, rate = '25/s' }", 11.0),
    ("bucket = { burst = 50, rate = '10/s' }", 25.0),
    ("bucket = { burst = 3, rate = '7/s' }", 42.5),
    ("bucket = { burst = 100, rate = '5/s' }\nhints = { remaining = 'honest' }", 40.0),
    ("bucket = { burst = 200, rate = '10/s' }\nhints = { retry_after = 'honest' }", 10.0),
    ("bucket = { burst = 10, rate = '3/s' }\nhints = { retry_after = 'honest' }", 96.7),
    ("bucket = { burst = 40, rate = '2/s' }\nhints = { retry_after = { always = '2s' } }", 130.0),
    ("window = { limit = 5, width = '1s' }\nhints = { retry_after = 'honest' }", 59.0),
    ("window = { limit = 60, width = '6s' }\nhints = { retry_after = 'honest' }", 24.0),
    ("window = { limit = 10, width = '1s' }\nhints = { reset = 'honest' }", 29.0),
    ("sliding = { limit = 60, width = '6s' }", 24.0),
    ("window = { limit = 100, width = '60s' }", 120.0),
];

/// Servers that say in each response how many calls are left, and of what quota.
const TELLING: [(&str, f64); 4] = [
    ("bucket = { burst = 60, rate = '10/s' }", 24.0),
    ("bucket = { burst = 50, rate = '8.33333/s' }", 30.0),
    ("bucket = { burst = 200, rate = '10/s' }", 10.0),
    ("window = { limit = 60, width = '6s' }", 24.0),
];

/// Small token buckets that say when they are full, in whole seconds.
const FULL_WITHIN_A_SECOND: [(&str, f64); 3] = [
    ("bucket = { burst = 20, rate = '50/s' }", 5.6),
    ("bucket = { burst = 5, rate = '100/s' }", 2.95),
    ("bucket = { burst = 8, rate = '10/s' }", 29.2),
];

/// The mean of the share of throttled calls and of the time relative to the ideal, over all servers and eight seeds.
fn mean(servers: &[(&str, f64)], hints: &str, processes: u32) -> [f64; 2] {
    let world = |(server, ideal): &(&str, f64), seed| {
        let clients = format!("processes = {processes}\nthreads = {}", 300 / processes);
        let text = format!(
            "end = '20min'\nstop_when_work_is_done = true\nlatency = {{ constant = '20ms' }}\n\
             [server]\n{server}\n{hints}\n[[clients]]\n{clients}\ndemand = {{ work = 1 }}\n"
        );
        let scenario = Scenario::parse(&text, "bursts.toml", "bursts").unwrap();
        let metrics = World::new(&scenario, "adaptive", seed).unwrap().run().unwrap().metrics;
        [metrics.get("throttled").unwrap(), metrics.get("time_s").unwrap() / ideal]
    };
    let worlds: Vec<_> =
        servers.iter().flat_map(|server| (1..=8).map(move |seed| (server, seed))).collect();
    let count = worlds.len() as f64;
    let each: Vec<[f64; 2]> =
        worlds.into_par_iter().map(|(server, seed)| world(server, seed)).collect();
    each.iter().fold([0.0; 2], |sum, it| [sum[0] + it[0] / count, sum[1] + it[1] / count])
}

#[test]
fn few_calls_of_a_burst_are_throttled_and_it_ends_soon() {
    const TELLS: &str = "hints = { remaining = 'honest', quota = 'honest' }";
    for (servers, hints, processes, throttled, longer) in [
        (&SERVERS[..], "", 1, 0.125, 1.2),
        (&SERVERS, "", 3, 0.27, 1.5),
        (&TELLING, TELLS, 1, 0.045, 1.2),
        (&TELLING, TELLS, 3, 0.2, 1.45),
        (&FULL_WITHIN_A_SECOND, "hints = { remaining = 'honest', reset = 'honest' }", 1, 0.09, 1.1),
    ] {
        let [share, time] = mean(servers, hints, processes);
        let what = format!(
            "{processes} processes {hints}: {share:.3} throttled, {time:.2} times the ideal"
        );
        assert!(share <= throttled && time <= longer, "{what}");
    }
}

#[test]
fn a_fleet_that_starts_together_finds_the_limit_with_few_rejections() {
    for (processes, threads, latency, most) in
        [(4, 6, "20ms", 0.115), (8, 6, "20ms", 0.235), (4, 12, "150ms", 0.105)]
    {
        let text = format!(
            "end = '12s'\nlatency = {{ constant = '{latency}' }}\n\
             [server]\nbucket = {{ burst = 10, rate = '60/s' }}\n\
             [[clients]]\nprocesses = {processes}\nthreads = {threads}\ndemand = 'closed'\n"
        );
        let scenario = Scenario::parse(&text, "bursts.toml", "bursts").unwrap();
        let run = |seed| World::new(&scenario, "adaptive", seed).unwrap().run().unwrap().metrics;
        let shares = (1..=24).into_par_iter().map(|seed| run(seed).get("throttled").unwrap());
        let share = shares.sum::<f64>() / 24.0;
        assert!(share <= most, "{share:.3} of {processes} processes' calls, {latency}");
    }
}
