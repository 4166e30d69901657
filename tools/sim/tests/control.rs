//! The committed table of fixed scenarios is that of these laws and this simulator.

use std::path::Path;
use std::{env, fs};

use rayon::prelude::*;
use tidegate_sim::metric::median;
use tidegate_sim::{Scenario, World};

/// Scenarios, and the stretch of each whose use and throttled calls count.
const SCENARIOS: [(&str, &str); 19] = [
    ("a-5x5", ""),
    ("autoscaling", ""),
    ("b-10", ""),
    ("b-10-strangers", ""),
    ("d-flappy", "overload_"),
    ("d-steady", "overload_"),
    ("day", ""),
    ("e-20-reset", ""),
    ("e-20-retry-after", ""),
    ("e-5", ""),
    ("g", ""),
    ("h", ""),
    ("i-4-1", "on_"),
    ("j-100", ""),
    ("metastable-70", ""),
    ("s-0.01-4", ""),
    ("s-1-1", ""),
    ("s-100-4", ""),
    ("strangers", ""),
];
const LAWS: [&str; 4] = ["adaptive", "aimd", "backoff", "heroku-proportional"];
/// No law is tuned with them.
const SEEDS: [u64; 3] = [1001, 1002, 1003];
const WRITE: &str = "BLESS=1 cargo test -p tidegate-sim --test control";

fn page() -> String {
    let pairs: Vec<_> =
        SCENARIOS.iter().flat_map(|scenario| LAWS.map(|law| (scenario, law))).collect();
    let rows: Vec<String> =
        pairs.into_par_iter().map(|(scenario, law)| row(scenario, law)).collect();
    let seeds = SEEDS.len().to_string();
    let head = include_str!("control.txt").replace("{seeds}", &seeds).replace("{write}", WRITE);
    head + &rows.concat()
}

fn row((name, stretch): &(&str, &str), law: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("scenarios/{name}.toml"));
    let scenario = Scenario::read(&file).unwrap();
    let runs = SEEDS.map(|seed| World::new(&scenario, law, seed).unwrap().run().unwrap());
    let figure = |metric: &str| median(runs.iter().filter_map(|run| run.metrics.get(metric)));
    let share =
        |metric: &str| figure(metric).map_or("".into(), |it| format!("{:.2} %", it * 100.0));
    let [used, throttled] =
        ["util", "throttled"].map(|metric| share(&format!("{stretch}{metric}")));
    let settled = share("ss_throttled");
    let jain = figure("jain_worker").map_or("".into(), |it| format!("{it:.3}"));
    let wait = figure("wait_p99_ms").map_or("".into(), |it| format!("{:.2} s", it / 1e3));
    format!("| {name} | {law} | {used} | {throttled} | {settled} | {jain} | {wait} |\n")
}

#[test]
fn the_committed_table_is_of_these_laws() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/control.md");
    let page = page();
    if env::var_os("BLESS").is_some() {
        fs::write(file, page).unwrap();
        return;
    }
    let committed = fs::read_to_string(file).unwrap();
    let stale: Vec<&str> =
        page.lines().filter(|line| !committed.lines().any(|it| it == *line)).collect();
    assert!(page == committed, "{WRITE} writes instead:\n{}", stale.join("\n"));
}
