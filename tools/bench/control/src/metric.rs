//! Which metrics matter for a scenario, which direction is better, and how to format them.

/// The relevant metrics of scenarios by name prefix. The first match counts.
const TELLING: &[(&str, &[&str])] = &[
    ("autoscaling", &["util", "throttled", "last_util", "last_jain", "leave_s", "wait_p99_ms"]),
    ("a-", &["util", "ss_throttled", "throttled", "jain_worker", "wait_p50_ms", "wait_max_ms"]),
    (
        "b-",
        &[
            "time_over_limit",
            "throttles",
            "throttled",
            "jain_process",
            "wait_p50_ms",
            "wait_p99_ms",
        ],
    ),
    ("black-hole", &["hole_util", "hole_throttled", "latency_mean_ms", "wait_p99_ms", "lost"]),
    ("clear", &["time_s", "throttled", "wait_p99_ms"]),
    (
        "c",
        &["util", "throttled", "up_s", "leave_s", "before_step_jain", "last_jain", "wait_p99_ms"],
    ),
    ("day", &["util", "ss_throttled", "throttled", "jain_worker", "wait_p50_ms", "wait_max_ms"]),
    (
        "d-",
        &[
            "overload_util",
            "overload_throttled",
            "recovery_s",
            "after_util",
            "jain_process",
            "wait_p99_ms",
        ],
    ),
    (
        "drastic-slowdown",
        &["slow_util", "after_util", "latency_mean_ms", "latency_p99_ms", "wait_p99_ms"],
    ),
    ("e-", &["util", "throttled", "jain_process", "peak_1s", "wait_p50_ms", "wait_p99_ms"]),
    (
        "f",
        &["outage_load", "recovery_s", "first_ten_minutes_util", "after_throttled", "return_peak"],
    ),
    ("g", &["util", "throttled", "up_s", "down_s", "settled_jain", "wait_p99_ms"]),
    (
        "h",
        &["util", "throttled", "server_p50_ms", "server_p99_ms", "jain_process", "latency_p99_ms"],
    ),
    ("i-", &["on_util", "on_throttled", "first_2s_throttles", "jain_process", "wait_p99_ms"]),
    (
        "j-",
        &[
            "util",
            "throttled",
            "four_jain",
            "eight_jain",
            "fair_4_to_8_s",
            "leave_s",
            "wait_p99_ms",
        ],
    ),
    ("l", &["latency_mean_ms", "latency_p99_ms", "wait_max_ms", "throttled"]),
    ("metastable-", &["recovery_s", "end_util", "end_throttled", "end_load", "util", "lost"]),
    ("one-big-spike", &["time_s", "throttles", "latency_mean_ms", "wait_p99_ms", "lost"]),
    (
        "slow-503s",
        &["bad_util", "bad_throttled", "recovery_s", "latency_mean_ms", "wait_p99_ms", "lost"],
    ),
    ("s-", &["ss_util", "ss_throttled", "util", "jain_process", "wait_p50_ms", "wait_p99_ms"]),
    ("", &["util", "throttled", "jain_process", "wait_p50_ms", "wait_p99_ms"]),
];

/// The metrics to show of a scenario.
pub fn telling(scenario: &str) -> &'static [&'static str] {
    let fits = TELLING.iter().find(|(start, _)| scenario.starts_with(start));
    fits.map_or(&[], |(_, metrics)| metrics)
}

/// The names in this scenario of the share of the server that was used and of the share of
/// throttled calls. `None` if the scenario is not about them.
pub fn use_and_throttled(scenario: &str) -> Option<(&'static str, &'static str)> {
    match scenario {
        "l" | "clear" | "drastic-slowdown" | "one-big-spike" => None,
        "black-hole" => Some(("hole_util", "hole_throttled")),
        "slow-503s" => Some(("bad_util", "bad_throttled")),
        "day" => Some(("ss_util", "ss_throttled")),
        "f" | "f-backlog" => Some(("first_ten_minutes_util", "after_throttled")),
        _ => Some(match scenario.split_once('-') {
            Some(("a" | "s", _)) => ("ss_util", "ss_throttled"),
            Some(("d", _)) => ("overload_util", "overload_throttled"),
            Some(("i", _)) => ("on_util", "on_throttled"),
            Some(("metastable", _)) => ("end_util", "end_throttled"),
            _ => ("util", "throttled"),
        }),
    }
}

/// Whether higher is better. For all other metrics lower is better.
pub fn is_better_high(metric: &str) -> bool {
    ["util", "jain"].iter().any(|word| metric.split('_').any(|part| part == *word))
}

fn is_share(metric: &str) -> bool {
    ["util", "throttled"].iter().any(|end| metric.ends_with(end))
}

/// The name of a metric in a table head.
pub fn head(metric: &str) -> String {
    let name = metric.strip_suffix("_ms").unwrap_or(metric);
    name.strip_suffix("_s").filter(|_| metric.ends_with("_s")).unwrap_or(name).replace('_', " ")
}

/// Formats a figure.
pub fn written(metric: &str, figure: f64) -> String {
    if is_share(metric) {
        let percent = figure * 100.0;
        return if percent == 0.0 { "0 %".into() } else { format!("{} %", digits(percent)) };
    }
    match metric {
        _ if metric.ends_with("_ms") && figure >= 1_000.0 => format!("{} s", digits(figure / 1e3)),
        _ if metric.ends_with("_ms") => format!("{} ms", digits(figure)),
        _ if metric.ends_with("_s") => format!("{} s", digits(figure)),
        _ if metric.contains("jain") || metric == "time_over_limit" => format!("{figure:.3}"),
        _ => digits(figure),
    }
}

/// Three significant digits, without trailing zeros after the point.
fn digits(figure: f64) -> String {
    let places = match figure.abs() {
        100.0.. => 1,
        10.0.. => 2,
        1.0.. => 2,
        0.0995.. => 3,
        _ => 4,
    };
    let text = format!("{figure:.places$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_their_units() {
        for (metric, figure, expected) in [
            ("util", 0.99934, "99.93 %"),
            ("ss_throttled", 0.0014, "0.14 %"),
            ("throttled", 1.0, "100 %"),
            ("wait_p99_ms", 12.5, "12.5 ms"),
            ("wait_p99_ms", 2_529.279, "2.53 s"),
            ("up_s", 13.0, "13 s"),
            ("peak_1s", 8.0, "8"),
            ("eight_jain", 0.95, "0.950"),
        ] {
            assert_eq!(written(metric, figure), expected);
        }
    }

    #[test]
    fn every_scenario_has_relevant_metrics() {
        for (scenario, first) in [
            ("c", "util"),
            ("clear", "time_s"),
            ("day", "util"),
            ("d-steady", "overload_util"),
            ("strangers", "util"),
            ("metastable-70", "recovery_s"),
            ("one-big-spike", "time_s"),
            ("slow-503s", "bad_util"),
        ] {
            assert_eq!(telling(scenario)[0], first, "{scenario}");
        }
        assert!(
            is_better_high("ss_util")
                && is_better_high("jain_worker")
                && !is_better_high("throttled")
        );
    }
}
