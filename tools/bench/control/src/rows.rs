//! Results of scenarios with laws, in the format of `tidegate-sim run --json`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

/// All rows, by scenario and law.
#[derive(Default)]
pub struct Rows(BTreeMap<(String, String), Value>);

impl Rows {
    /// The rows that an earlier run saved in `file`. Empty if the file is missing.
    pub fn kept_in(file: &Path) -> Result<Self> {
        let Ok(text) = fs::read_to_string(file) else { return Ok(Self::default()) };
        let mut rows = Self::default();
        let list: Vec<Value> = serde_json::from_str(&text)
            .with_context(|| format!("{} is not a list of rows: delete it", file.display()))?;
        list.into_iter().for_each(|row| rows.take(row));
        Ok(rows)
    }

    /// Adds a row, replacing an older one.
    pub fn take(&mut self, row: Value) {
        let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
        self.0.insert((text("scenario"), text("law")), row);
    }

    pub fn get(&self, scenario: &str, law: &str) -> Option<&Value> {
        self.0.get(&(scenario.to_owned(), law.to_owned()))
    }

    /// The median of a metric, if it applies.
    pub fn metric(&self, scenario: &str, law: &str, metric: &str) -> Option<f64> {
        self.get(scenario, law)?["metrics"][metric].as_f64()
    }

    /// The rows of these scenarios and laws, one per line.
    pub fn json(&self, scenarios: &[String], laws: &[&str]) -> String {
        let pairs =
            scenarios.iter().flat_map(|scenario| laws.iter().map(move |law| (scenario, law)));
        let rows =
            pairs.filter_map(|(scenario, law)| self.get(scenario, law)).map(Value::to_string);
        format!("[{}]", rows.collect::<Vec<_>>().join(",\n"))
    }

    pub fn keep_in(&self, file: &Path) -> Result<()> {
        let rows: Vec<String> = self.0.values().map(Value::to_string).collect();
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        }
        fs::write(file, format!("[{}]\n", rows.join(",\n")))
            .with_context(|| format!("cannot write {}", file.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_newer_row_replaces_the_older_and_a_metric_may_not_apply() {
        let mut rows = Rows::default();
        for util in [0.5, 0.75] {
            rows.take(
                json!({ "scenario": "s", "law": "l", "metrics": { "util": util, "lost": null } }),
            );
        }
        assert_eq!(rows.metric("s", "l", "util"), Some(0.75));
        assert_eq!(rows.metric("s", "l", "lost"), None);
        assert_eq!(rows.json(&["s".into()], &["l", "m"]).lines().count(), 1);
    }
}
