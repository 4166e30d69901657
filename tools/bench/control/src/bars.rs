//! The targets of `adaptive`: what it must reach, and what it aims at.

use crate::metric::{self, written};
use crate::rows::Rows;

/// A target for one metric of some scenarios. Each scenario must meet it.
pub struct Bar {
    /// A short description. Targets with the same description are listed together.
    pub about: &'static str,
    pub scenarios: &'static [&'static str],
    pub metric: &'static str,
    pub must: Option<Mark>,
    pub aim: Option<Mark>,
    pub law: &'static str,
}

/// A target value.
#[derive(Clone, Copy)]
pub enum Mark {
    /// A value of the metric. Whether it is a minimum or a maximum depends on the metric.
    Figure(f64),
    /// A multiple of the same metric in another scenario.
    Times(f64, &'static str),
}

use Mark::{Figure, Times};

const fn must(
    about: &'static str,
    scenarios: &'static [&'static str],
    metric: &'static str,
    must: f64,
) -> Bar {
    Bar { about, scenarios, metric, must: Some(Figure(must)), aim: None, law: LAW }
}

impl Bar {
    const fn aim(self, aim: f64) -> Self {
        Self { aim: Some(Figure(aim)), ..self }
    }

    /// The same target for the law with a concurrency limit.
    const fn windowed(self) -> Self {
        Self { law: WINDOWED, ..self }
    }

    /// A target with an aim only.
    const fn only_aim(
        about: &'static str,
        scenarios: &'static [&'static str],
        metric: &'static str,
        aim: f64,
    ) -> Self {
        Self { about, scenarios, metric, must: None, aim: Some(Figure(aim)), law: LAW }
    }

    /// At most twice the value of another scenario, and ideally the same.
    const fn beside(
        about: &'static str,
        scenario: &'static [&'static str],
        metric: &'static str,
        other: &'static str,
    ) -> Self {
        Self {
            about,
            scenarios: scenario,
            metric,
            must: Some(Times(2.0, other)),
            aim: Some(Times(1.0, other)),
            law: LAW,
        }
    }
}

const REMAINING: &str = "4500 an hour, remaining reported";
const QUOTA: &str = "4500 an hour, quota reported";
const BLIND: &str = "4500 an hour, no hints";
const SCAN: &str = "scan alone";
const STRANGERS: &str = "scan with 2 strangers";
const CREDIT: &str = "burst credit, doubled rate";
const OVERLOAD: &str = "overload, steady";
const FLAPPY: &str = "overload, flapping";
const RESET: &str = "fixed window, remaining and reset reported";
const RETRY_AFTER: &str = "fixed window, Retry-After";
const OUTAGE: &str = "outage";
const STEPS: &str = "capacity in steps";
const QUEUE: &str = "queueing server";
const JOINS: &str = "joins and leaves";
const ALONE: &str = "one client at every scale";
const FOUR: &str = "four clients at every scale";
const ON_OFF: &str = "on and off";
const TRIPS: &str = "round trips of 5 and 400 ms";
const IDLE: &str = "no contention";

/// All targets in the order of the page.
#[rustfmt::skip]
pub const BARS: &[Bar] = &[
    must(REMAINING, &["day"], "ss_throttled", 0.002),
    must(REMAINING, &["day"], "jain_worker", 0.999),
    must(REMAINING, &["day"], "util", 0.999),
    Bar::only_aim(REMAINING, &["a-50x1-remaining", "a-1x50-remaining"], "ss_throttled", 0.002),
    Bar::only_aim(REMAINING, &["a-50x1-remaining", "a-1x50-remaining"], "jain_worker", 0.999),
    Bar::only_aim(REMAINING, &["a-50x1-remaining", "a-1x50-remaining"], "util", 0.999),
    must(QUOTA, &["a-5x5-quota"], "ss_throttled", 0.008).aim(0.003),
    must(QUOTA, &["a-5x5-quota"], "jain_worker", 0.98),
    must(BLIND, &["a-5x5"], "ss_throttled", 0.026).aim(0.02),
    must(BLIND, &["a-5x5"], "jain_worker", 0.94).aim(0.98),
    must(BLIND, &["a-5x5"], "util", 0.999),
    must(BLIND, &["a-5x5"], "wait_max_ms", 600_000.0),
    must(SCAN, &["b-4", "b-10"], "time_over_limit", 1.03).aim(1.01),
    must(SCAN, &["b-4", "b-10"], "throttles", 10.0).aim(6.0),
    must(STRANGERS, &["b-10-strangers"], "time_over_limit", 1.3).aim(1.15),
    must(STRANGERS, &["b-10-strangers"], "throttled", 0.031).aim(0.022),
    must(CREDIT, &["c"], "util", 0.999),
    must(CREDIT, &["c"], "throttled", 0.002),
    must(CREDIT, &["c"], "up_s", 13.0),
    must(CREDIT, &["c"], "before_step_jain", 0.77).aim(0.95),
    must(OVERLOAD, &["d-steady"], "overload_util", 0.97),
    must(OVERLOAD, &["d-steady"], "overload_throttled", 0.0065),
    must(OVERLOAD, &["d-steady"], "recovery_s", 15.0).aim(8.0),
    must(FLAPPY, &["d-flappy"], "overload_util", 0.5).aim(0.7),
    must(FLAPPY, &["d-flappy"], "overload_throttled", 0.007),
    must(RESET, &["e-1-reset", "e-5-reset", "e-20-reset"], "util", 0.995),
    must(RESET, &["e-1-reset"], "throttled", 0.0),
    must(RESET, &["e-5-reset"], "throttled", 0.001).aim(0.0),
    must(RESET, &["e-20-reset"], "throttled", 0.013).aim(0.005),
    must(RESET, &["e-1-reset", "e-5-reset", "e-20-reset"], "peak_1s", 8.0),
    must(RETRY_AFTER, &["e-1-retry-after", "e-5-retry-after", "e-20-retry-after"], "util", 1.0),
    must(RETRY_AFTER, &["e-1-retry-after"], "throttled", 0.01).aim(0.005),
    must(RETRY_AFTER, &["e-5-retry-after"], "throttled", 0.03).aim(0.02),
    must(RETRY_AFTER, &["e-20-retry-after"], "throttled", 0.06).aim(0.04),
    must(RETRY_AFTER, &["e-5-retry-after", "e-20-retry-after"], "jain_process", 0.88).aim(0.95),
    must(OUTAGE, &["f", "f-backlog"], "outage_load", 45.0),
    must(OUTAGE, &["f", "f-backlog"], "recovery_s", 23.0),
    must(OUTAGE, &["f", "f-backlog"], "after_throttled", 0.0045),
    must(OUTAGE, &["f", "f-backlog"], "return_peak", 1_680.0),
    must(OUTAGE, &["f", "f-backlog"], "first_ten_minutes_util", 0.8).aim(0.97),
    must(STEPS, &["g"], "util", 0.96),
    must(STEPS, &["g"], "throttled", 0.006),
    must(STEPS, &["g"], "up_s", 24.0).aim(15.0),
    must(STEPS, &["g"], "settled_jain", 0.8).aim(0.95),
    must(QUEUE, &["h"], "throttled", 0.005).windowed(),
    must(QUEUE, &["h"], "util", 0.97).windowed(),
    must(QUEUE, &["h"], "server_p50_ms", 150.0).aim(70.0).windowed(),
    must(QUEUE, &["h"], "jain_process", 0.85).aim(0.95).windowed(),
    must(JOINS, &["j-100", "j-300"], "util", 0.985),
    must(JOINS, &["j-100", "j-300"], "throttled", 0.005),
    Bar::only_aim(JOINS, &["j-100", "j-300"], "eight_jain", 0.95),
    must(ALONE, &["s-1h-1", "s-0.01-1", "s-1-1", "s-100-1"], "ss_util", 0.97),
    must(ALONE, &["s-10000-1"], "ss_util", 0.91).aim(0.97),
    Bar::only_aim(ALONE, &["s-100000-1"], "ss_util", 0.97),
    must(ALONE, &["s-1h-1"], "ss_throttled", 0.11).aim(0.055),
    must(ALONE, &["s-1-1"], "ss_throttled", 0.012),
    must(ALONE, &["s-100-1"], "ss_throttled", 0.005),
    Bar::only_aim(ALONE, &["s-1h-1", "s-0.01-1", "s-1-1", "s-100-1", "s-10000-1"], "util", 0.95),
    must(FOUR, &["s-0.01-4", "s-1-4", "s-100-4"], "jain_process", 0.85).aim(0.95),
    must(ON_OFF, &["i-4-1", "i-4-3", "i-4-1-drop", "i-100-4"], "first_2s_throttles", 2.0),
    must(ON_OFF, &["i-4-1"], "on_util", 0.92).aim(0.97),
    must(ON_OFF, &["i-4-3"], "on_util", 0.85).aim(0.97),
    Bar::beside(TRIPS, &["b-4-rtt-5", "b-4-rtt-400"], "throttles", "b-4"),
    Bar::beside(TRIPS, &["b-10-rtt-5", "b-10-rtt-400"], "throttles", "b-10"),
    Bar::beside(TRIPS, &["j-100-rtt-5", "j-100-rtt-400"], "throttles", "j-100"),
    Bar::beside(TRIPS, &["s-1-1-rtt-5", "s-1-1-rtt-400"], "throttles", "s-1-1"),
    Bar::beside(TRIPS, &["s-100-1-rtt-5", "s-100-1-rtt-400"], "throttles", "s-100-1"),
    Bar::beside(TRIPS, &["s-1-4-rtt-5", "s-1-4-rtt-400"], "throttles", "s-1-4"),
    Bar::beside(TRIPS, &["s-100-4-rtt-5", "s-100-4-rtt-400"], "throttles", "s-100-4"),
    must(TRIPS, &["j-100-rtt-5", "j-100-rtt-400"], "eight_jain", 0.7),
    must(TRIPS, &["s-1-4-rtt-5", "s-1-4-rtt-400", "s-100-4-rtt-5", "s-100-4-rtt-400"], "jain_process", 0.7),
    must(IDLE, &["l"], "wait_max_ms", 0.0),
];

/// The law of the targets.
pub const LAW: &str = "adaptive";
/// The same law with a concurrency limit that follows latency, for servers that queue.
pub const WINDOWED: &str = "adaptive+vegas";

/// One scenario measured against a target.
pub struct Measured {
    pub about: &'static str,
    pub scenario: &'static str,
    pub law: &'static str,
    pub metric: &'static str,
    pub must: Option<f64>,
    pub aim: Option<f64>,
    pub figure: f64,
}

/// Which targets a figure reaches.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Reached {
    /// Both, or the only one.
    Both,
    /// The required one, but not the aim.
    Must,
    /// Not the required one, or not the aim if there is nothing else.
    No,
}

impl Measured {
    fn meets(&self, mark: f64) -> bool {
        if metric::is_better_high(self.metric) { self.figure >= mark } else { self.figure <= mark }
    }

    pub fn reached(&self) -> Reached {
        let aim = self.aim.is_none_or(|aim| self.meets(aim));
        match self.must {
            Some(must) if !self.meets(must) => Reached::No,
            None if !aim => Reached::No,
            _ if aim => Reached::Both,
            _ => Reached::Must,
        }
    }

    /// Formats a target with its direction.
    pub fn sign(&self, mark: Option<f64>) -> String {
        let Some(mark) = mark else { return String::new() };
        let sign = if metric::is_better_high(self.metric) { "≥" } else { "≤" };
        format!("{sign} {}", written(self.metric, mark))
    }
}

/// Every target whose scenario was run.
pub fn measured(rows: &Rows) -> Vec<Measured> {
    let all =
        BARS.iter().flat_map(|bar| bar.scenarios.iter().map(move |scenario| (bar, *scenario)));
    all.filter_map(|(bar, scenario)| {
        let figure = rows.metric(scenario, bar.law, bar.metric)?;
        let value = |mark: Option<Mark>| match mark? {
            Figure(figure) => Some(figure),
            Times(times, other) => Some(times * rows.metric(other, bar.law, bar.metric)?),
        };
        let (must, aim) = (value(bar.must), value(bar.aim));
        (must.is_some() || aim.is_some()).then_some(Measured {
            about: bar.about,
            scenario,
            law: bar.law,
            metric: bar.metric,
            must,
            aim,
            figure,
        })
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rows(scenario: &str, metric: &str, figure: f64) -> Rows {
        let mut rows = Rows::default();
        rows.take(json!({ "scenario": scenario, "law": LAW, "metrics": { metric: figure } }));
        rows
    }

    #[test]
    fn a_figure_is_compared_in_the_direction_of_its_metric() {
        for (scenario, metric, figure, expected) in [
            ("a-5x5", "ss_throttled", 0.02, Reached::Both),
            ("a-5x5", "ss_throttled", 0.025, Reached::Must),
            ("a-5x5", "ss_throttled", 0.027, Reached::No),
            ("a-5x5", "jain_worker", 0.95, Reached::Must),
            ("s-100000-1", "ss_util", 0.96, Reached::No),
        ] {
            let measured = measured(&rows(scenario, metric, figure));
            assert_eq!(measured.len(), 1);
            assert_eq!(measured[0].reached(), expected, "{scenario} {metric} {figure}");
        }
    }

    #[test]
    fn a_relative_target_is_a_multiple_of_the_other_scenario() {
        let mut rows = rows("b-4", "throttles", 8.0);
        rows.take(json!({ "scenario": "b-4-rtt-5", "law": LAW, "metrics": { "throttles": 17.0 } }));
        let measured = measured(&rows);
        let trip = measured.iter().find(|m| m.scenario == "b-4-rtt-5").unwrap();
        assert_eq!((trip.must, trip.aim), (Some(16.0), Some(8.0)));
        assert_eq!(trip.reached(), Reached::No);
    }

    #[test]
    fn every_target_names_an_existing_scenario() {
        let there = crate::scenarios().unwrap();
        for bar in BARS {
            for name in bar.scenarios {
                assert!(there.iter().any(|scenario| scenario.name == *name), "{name}");
            }
        }
    }
}
