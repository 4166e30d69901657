//! Reports: one row per scenario and law, with medians over seeds and their spread.

use std::collections::BTreeMap;

use comfy_table::{CellAlignment, Table, presets};
use serde::{Serialize, Serializer};

use crate::controllers;
use crate::metric::median;
use crate::world::Run;

/// The results of a scenario with a law over all seeds.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    pub scenario: String,
    pub law: String,
    pub peer: bool,
    pub seeds: Vec<u64>,
    /// The median of each metric, in order. `None` if the metric does not apply.
    #[serde(serialize_with = "map")]
    pub metrics: Vec<(String, Option<f64>)>,
    /// The minimum and maximum of each metric that applies.
    #[serde(serialize_with = "map")]
    pub spread: Vec<(String, [f64; 2])>,
    pub digests: Vec<String>,
}

fn map<T: Serialize, S: Serializer>(figures: &[(String, T)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(figures.iter().map(|(name, figure)| (name, figure)))
}

impl Row {
    pub fn new(scenario: &str, law: &str, seeds: &[u64], runs: &[Run]) -> Self {
        let names = runs.first().map_or(&[][..], |run| &run.metrics.0);
        let (mut metrics, mut spread) = (Vec::new(), Vec::new());
        for (index, (name, _)) in names.iter().enumerate() {
            let values = || runs.iter().filter_map(|run| run.metrics.0.get(index)?.1);
            metrics.push((name.to_string(), median(values())));
            if let (Some(least), Some(most)) =
                (values().min_by(f64::total_cmp), values().max_by(f64::total_cmp))
            {
                spread.push((name.to_string(), [least, most]));
            }
        }
        Self {
            scenario: scenario.into(),
            law: law.into(),
            peer: controllers::is_peer(law),
            seeds: seeds.into(),
            metrics,
            spread,
            digests: runs.iter().map(|run| run.digest.to_string()).collect(),
        }
    }

    fn figure(&self, name: &str) -> Option<f64> {
        self.metrics.iter().find(|metric| metric.0 == name)?.1
    }
}

/// Metrics that appear only in JSON.
const TOO_MUCH: [&str; 7] = [
    "ss_util",
    "wait_p50_ms",
    "wait_max_ms",
    "latency_p99_ms",
    "latency_mean_ms",
    "stdev_worker",
    "calls",
];

/// Tables for people: one per scenario, with the metrics that apply to it.
pub fn tables(rows: &[Row]) -> String {
    let mut scenarios: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for row in rows {
        scenarios.entry(&row.scenario).or_default().push(row);
    }
    scenarios.into_iter().map(|(name, rows)| format!("{name}\n{}\n\n", table(&rows))).collect()
}

fn table(rows: &[&Row]) -> Table {
    let means = |name: &str| rows.iter().any(|row| row.figure(name).is_some());
    let dull = |name: &str| {
        let losses = rows.iter().all(|row| row.figure(name) == Some(0.0));
        TOO_MUCH.contains(&name) || (name == "lost" && losses)
    };
    let names: Vec<&str> = rows
        .first()
        .map(|row| row.metrics.iter().map(|metric| metric.0.as_str()).collect())
        .unwrap_or_default();
    let names: Vec<&str> = names.into_iter().filter(|name| means(name) && !dull(name)).collect();
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    let heads = names.iter().map(|name| name.replace('_', " "));
    table.set_header([String::from("law")].into_iter().chain(heads));
    for row in rows {
        let mark = if row.peer { " (peer)" } else { "" };
        let cells = names.iter().map(|name| written(name, row.figure(name)));
        table.add_row([format!("{}{mark}", row.law)].into_iter().chain(cells));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// Formats a figure: shares in per cent, others with about four digits.
fn written(name: &str, figure: Option<f64>) -> String {
    let Some(figure) = figure else { return "-".into() };
    let share = ["util", "throttled"].iter().any(|end| name.ends_with(end));
    let (figure, unit) = if share { (figure * 100.0, " %") } else { (figure, "") };
    let digits = match figure.abs() {
        1_000.0.. => 0,
        100.0.. => 1,
        10.0.. => 2,
        _ if figure.fract() == 0.0 => 0,
        _ => 3,
    };
    format!("{figure:.digits$}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::Metrics;
    use crate::trace::Digest;

    fn run(util: f64, jain: Option<f64>) -> Run {
        let metrics = Metrics(vec![("util".into(), Some(util)), ("jain_process".into(), jain)]);
        Run { digest: Digest::default(), calls: 0, events: 0, metrics }
    }

    #[test]
    fn a_row_has_medians_their_spread_and_null_for_metrics_that_do_not_apply() {
        let runs = [run(0.9, None), run(0.5, None), run(0.8, None)];
        let row = Row::new("day", "none", &[1, 2, 3], &runs);
        let json = serde_json::to_value(&row).unwrap();
        assert_eq!(json["metrics"]["util"], 0.8);
        assert!(json["metrics"]["jain_process"].is_null());
        assert_eq!(json["spread"], serde_json::json!({ "util": [0.5, 0.9] }));
        assert_eq!(json["seeds"], serde_json::json!([1, 2, 3]));
    }
}
