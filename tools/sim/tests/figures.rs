//! The simulator agrees with an independent prototype of these scenarios and laws. They share only
//! the definitions.
//!
//! The prototype's figures are medians over three to five seeds. The tolerance is the difference
//! between two sets of seeds, plus two in the last digit. The prototype counted what bursts and partial
//! windows serve beyond the supply: where it had more than all of it, the figure is 1.

use std::path::Path;

use rayon::prelude::*;
use tidegate_sim::metric::median;
use tidegate_sim::{Scenario, World};

/// Scenario, law, and metrics with the prototype's figure and the tolerance.
const FIGURES: &str = "
a-5x1 none: util 0.9999 ± 0.0005, throttled 0.9625 ± 0.0005, ss_throttled 0.975 ± 0.0005, jain_process 1 ± 0.001
a-5x1 fulljit: util 0.9998 ± 0.0005, throttled 0.5616 ± 0.008, ss_throttled 0.659 ± 0.01, jain_process 0.999 ± 0.004
a-5x1 oracle: util 0.9998 ± 0.0005, throttled 0 ± 0.001, jain_process 1 ± 0.001, wait_max_ms 3950 ± 50
a-2x5 none: util 0.9996 ± 0.0005, throttled 0.9875 ± 0.0003, jain_worker 0.996 ± 0.003
a-2x5 fulljit: throttled 0.7331 ± 0.01, jain_worker 0.969 ± 0.025, jain_process 0.998 ± 0.003
a-2x5 heroku-proportional: util 0.9871 ± 0.01, throttled 0.0252 ± 0.004, jain_process 0.996 ± 0.01, wait_max_ms 17310 ± 500
a-2x5-remaining heroku-remaining: util 0.9982 ± 0.002, throttled 0.0281 ± 0.004, jain_process 0.992 ± 0.02, wait_max_ms 17400 ± 500
b-4 none: time_over_limit 1.001 ± 0.002, throttled 0.5985 ± 0.006, throttles 1491 ± 40
b-4 fulljit: time_over_limit 1.048 ± 0.01, throttled 0.2076 ± 0.015, throttles 262 ± 20
b-10 oracle: time_over_limit 1.002 ± 0.002, throttles 0 ± 0
b-10-same-3 none: time_over_limit 1.021 ± 0.03, throttled 0.9019 ± 0.004, util 0.9999 ± 0.0005
b-10-strangers none: time_over_limit 0.968 ± 0.06, throttled 0.7928 ± 0.015, util 0.9997 ± 0.0005
b-10-strangers fulljit: time_over_limit 1.02 ± 0.06, throttled 0.336 ± 0.015, util 0.9948 ± 0.004
c fulljit: util 1 ± 0.0002, throttled 0.062 ± 0.0008, up_s 0 ± 0, leave_s 0 ± 0, before_step_jain 0.999 ± 0.001
d-steady none: overload_util 1.001 ± 0.001, overload_throttled 0.5995 ± 0.001, down_s 40 ± 0, recovery_s 0 ± 0, after_util 1 ± 0
d-steady fulljit: overload_util 1.001 ± 0.001, overload_throttled 0.1726 ± 0.004, recovery_s 1 ± 1, after_util 1.002 ± 0.003
e-1 fulljit: util 1.011 ± 0.023, throttled 0.0762 ± 0.01, peak_1s 13 ± 1
e-5 none: util 1 ± 0.001, throttled 0.9656 ± 0.0005, peak_1s 57 ± 2
f fulljit: outage_load 98.86 ± 0.5, recovery_s 10.5 ± 1.5, after_throttled 0 ± 0, first_ten_minutes_util 0.9902 ± 0.002
g fulljit: util 1 ± 0.0005, throttled 0.2096 ± 0.003, up_s 0 ± 0, down_s 200 ± 0, settled_jain 0.996 ± 0.006
h fulljit: util 1.002 ± 0.008, throttled 0.2673 ± 0.006, server_p50_ms 247 ± 4, server_p99_ms 705.8 ± 15
j-5 none: util 0.9998 ± 0.0003, throttled 0.8888 ± 0.001, fair_2_to_4_s 0 ± 0, eight_jain 0.986 ± 0.01
j-100 fulljit: throttled 0.1671 ± 0.004, two_jain 1 ± 0.001, four_jain 0.998 ± 0.003, leave_s 0 ± 0
l none: latency_mean_ms 100 ± 0.3, throttled 0 ± 0
clear none: time_s 44.94 ± 0.15";

#[test]
fn the_simulator_agrees_with_an_independent_prototype() {
    let lines: Vec<&str> = FIGURES.trim().lines().collect();
    let wrong: Vec<String> = lines.into_par_iter().flat_map(compare).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

fn compare(line: &str) -> Vec<String> {
    let (run, figures) = line.split_once(": ").unwrap();
    let (name, law) = run.split_once(' ').unwrap();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("scenarios/{name}.toml"));
    let scenario = Scenario::read(&file).unwrap();
    let runs = [1, 2, 3].map(|seed| World::new(&scenario, law, seed).unwrap().run().unwrap());
    let found = |metric: &str| median(runs.iter().filter_map(|run| run.metrics.get(metric)));
    let wrong = figures.split(", ").filter_map(|figure| {
        let [metric, expected, "±", tolerance] = figure.split(' ').collect::<Vec<_>>()[..] else {
            panic!("not a figure: {figure}")
        };
        let [expected, tolerance] = [expected, tolerance].map(|it| it.parse::<f64>().unwrap());
        let found = found(metric);
        let close = found.is_some_and(|found| (found - expected).abs() <= tolerance);
        (!close).then(|| format!("{run}: {metric} is {found:?} and not {expected} ± {tolerance}"))
    });
    wrong.collect()
}
