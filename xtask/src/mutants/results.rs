//! What is known about the changes of an area, in target/mutants/AREA/results.jsonl: one row for each
//! change, appended as soon as it has been tried, so that a run continues where the last one stopped.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::trial::Verdict;

/// A change, independent of its line: the file, the name, and its position among equal names.
pub type Key = (String, String, usize);

pub struct Results {
    file: File,
    known: HashMap<Key, (String, String, Verdict)>,
    inputs: String,
}

impl Results {
    /// `inputs` identifies everything that tests depend on.
    pub fn open(folder: &Path, inputs: &str) -> Result<Self> {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        let path = folder.join("results.jsonl");
        let rows = fs::read_to_string(&path).unwrap_or_default();
        // A row that was cut off when the last run ended is not read.
        let known = rows.lines().filter_map(|row| read(&serde_json::from_str(row).ok()?)).collect();
        let file = OpenOptions::new().append(true).create(true).open(&path);
        let file = file.with_context(|| path.display().to_string())?;
        Ok(Self { file, known, inputs: inputs.to_owned() })
    }

    /// An earlier verdict that still counts: on a change that was detected or did not compile, while
    /// its file is the same; on a survivor, while everything is.
    pub fn get(&self, key: &Key, source: &str) -> Option<&Verdict> {
        let (of_source, of_inputs, verdict) = self.known.get(key)?;
        let survived = matches!(verdict, Verdict::Survives | Verdict::Unreached);
        (of_source == source && (!survived || *of_inputs == self.inputs)).then_some(verdict)
    }

    pub fn put(&mut self, key: Key, source: &str, verdict: Verdict) -> Result<()> {
        let (result, by) = match &verdict {
            Verdict::Detected(by) => ("detected", by.as_str()),
            Verdict::Endless(by) => ("endless", by.as_str()),
            Verdict::Survives => ("survives", ""),
            Verdict::Unreached => ("unreached", ""),
            Verdict::Unbuilt => ("unbuilt", ""),
        };
        let (file, change, nth) = &key;
        let row = json!({
            "file": file, "change": change, "nth": nth, "result": result, "by": by,
            "source": source, "inputs": self.inputs,
        });
        self.file.write_all(format!("{row}\n").as_bytes())?;
        self.known.insert(key, (source.to_owned(), self.inputs.clone(), verdict));
        Ok(())
    }
}

fn read(row: &Value) -> Option<(Key, (String, String, Verdict))> {
    let text = |name: &str| row[name].as_str().map(str::to_owned);
    let by = text("by")?;
    let verdict = match row["result"].as_str()? {
        "detected" => Verdict::Detected(by),
        "endless" => Verdict::Endless(by),
        "survives" => Verdict::Survives,
        "unreached" => Verdict::Unreached,
        "unbuilt" => Verdict::Unbuilt,
        _ => return None,
    };
    let nth = usize::try_from(row["nth"].as_u64()?).ok()?;
    Some(((text("file")?, text("change")?, nth), (text("source")?, text("inputs")?, verdict)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_valid_until_its_inputs_change() {
        let folder = std::env::temp_dir().join(format!("tidegate-results-{}", std::process::id()));
        let key = |nth| ("time.rs".to_owned(), "replace < with <= in a".to_owned(), nth);
        let by = || Verdict::Detected("a test".into());
        let mut results = Results::open(&folder, "all").unwrap();
        results.put(key(0), "file", by()).unwrap();
        results.put(key(1), "file", Verdict::Survives).unwrap();
        results.put(key(1), "file", Verdict::Unreached).unwrap();
        fs::write(folder.join("other"), "").unwrap();
        // The same sources, other tests, and another file.
        for (inputs, source, detected, survives) in [
            ("all", "file", true, true),
            ("other", "file", true, false),
            ("all", "new", false, false),
        ] {
            let results = Results::open(&folder, inputs).unwrap();
            assert_eq!(results.get(&key(0), source), detected.then(by).as_ref());
            assert_eq!(results.get(&key(1), source), survives.then_some(&Verdict::Unreached));
            assert_eq!(results.get(&key(2), source), None);
        }
        fs::remove_dir_all(folder).unwrap();
    }
}
