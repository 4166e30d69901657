//! Records how long each part took, to estimate the remaining time of the next run.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use crate::workspace::root;

/// Seconds by part. The file has one line per part: `core 52`.
pub struct Times {
    file: PathBuf,
    seconds: BTreeMap<String, u64>,
}

impl Times {
    /// Reads the times of earlier runs of this size. They are empty before the first run.
    pub fn read(size: &str) -> Self {
        let file = root().join("target").join(format!("test-times-{size}"));
        let text = fs::read_to_string(&file).unwrap_or_default();
        let row = |line: &str| {
            let (part, seconds) = line.split_once(' ')?;
            Some((part.to_owned(), seconds.parse().ok()?))
        };
        let seconds = text.lines().filter_map(row).collect();
        Self { file, seconds }
    }

    /// The estimated remaining time, as text. Empty if the time of a part is not known. All lanes
    /// help with the parts of the first.
    pub fn left<const LANES: usize>(&self, lanes: &[Vec<&str>; LANES]) -> String {
        let sum = |lane: &Vec<&str>| lane.iter().map(|&part| self.seconds.get(part)).sum();
        let sums: Option<Vec<u64>> = lanes.iter().map(sum).collect();
        let longest = |sums: Vec<u64>| {
            let even = sums.iter().sum::<u64>() / sums.len() as u64;
            sums.into_iter().skip(1).fold(even, u64::max)
        };
        match sums.map(longest) {
            None => String::new(),
            Some(seconds) if seconds < 90 => format!(" (about {seconds} s left)"),
            Some(seconds) => format!(" (about {} min left)", seconds.div_ceil(60)),
        }
    }

    /// Records the time of a part. A failure to write the file is ignored.
    pub fn note(&mut self, part: &str, took: Duration) {
        self.seconds.insert(part.to_owned(), took.as_secs());
        let rows = self.seconds.iter().map(|(part, seconds)| format!("{part} {seconds}\n"));
        let unfinished = self.file.with_extension("new");
        _ = fs::create_dir_all(root().join("target"));
        if fs::write(&unfinished, rows.collect::<String>()).is_ok() {
            _ = fs::rename(unfinished, &self.file);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remaining_time_is_shown_once_every_part_is_known() {
        let seconds = [("core", 50), ("sim", 30), ("wasm", 100)].map(|(part, s)| (part.into(), s));
        let times = Times { file: PathBuf::new(), seconds: seconds.into() };
        assert_eq!(times.left(&[vec!["core", "sim"], vec![]]), " (about 40 s left)");
        assert_eq!(times.left(&[vec!["core", "sim"], vec!["wasm"]]), " (about 2 min left)");
        assert_eq!(times.left(&[vec!["core"], vec!["web"]]), "");
    }

    #[test]
    fn the_time_of_a_part_is_read_by_the_next_run() {
        let size = format!("of-{}", std::process::id());
        let mut times = Times::read(&size);
        assert_eq!(times.left(&[vec!["core"], vec![]]), "");
        times.note("core", Duration::from_secs(7));
        assert_eq!(Times::read(&size).left(&[vec!["core"], vec![]]), " (about 3 s left)");
        fs::remove_file(times.file).unwrap();
    }
}
