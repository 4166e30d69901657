//! Finds what no file of the repository may contain: unfinished work, local paths and replaced
//! names.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, anyhow, bail};

/// Marks of unfinished work. Each is written in two halves because this file is searched too.
const UNFINISHED: [&str; 4] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("to", "do!("),
    concat!("unimple", "mented!("),
];

/// Beginnings of paths on developers' and build machines.
const MACHINE: [&str; 5] = [
    concat!("/ho", "me/"),
    concat!("/Us", "ers/"),
    concat!("/ro", "ot/"),
    concat!("/wo", "rk/"),
    concat!("/wo", "rkspace"),
];

/// Beginnings of names that were replaced.
const REPLACED: [&str; 9] = [
    concat!("As", "k::"),
    concat!("Decision::", "Go"),
    concat!("Verdict::", "Go"),
    concat!("Verdict::", "Refuse"),
    concat!("Window", "Policy"),
    concat!("Hold", "Policy"),
    concat!("Budget", "Policy"),
    concat!("Iso", "late::"),
    concat!("max", "Hold"),
];

/// Lists every file that git tracks, and every new file that it does not ignore.
pub fn files(root: &Path) -> Result<Vec<String>> {
    let mut list = Command::new("git");
    list.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).current_dir(root);
    let output = list.output().context("cannot start git to list the files")?;
    if !output.status.success() {
        bail!("git failed to list the files: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let names = String::from_utf8_lossy(&output.stdout);
    Ok(names.split_terminator('\0').map(str::to_owned).collect())
}

/// Checks all files.
pub fn check(root: &Path) -> Result<()> {
    // The path of this checkout.
    let here = root.display().to_string();
    let mut lines = Vec::new();
    for name in files(root)? {
        // A deleted file may still be listed, and a binary file is not searched.
        let Ok(text) = fs::read_to_string(root.join(&name)) else { continue };
        lines.extend(
            findings(&text, &here).into_iter().map(|(n, what)| format!("{name}:{n}: {what}")),
        );
    }
    if lines.is_empty() { Ok(()) } else { Err(anyhow!(lines.join("\n"))) }
}

/// Returns line numbers and descriptions.
fn findings(text: &str, here: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let mark = UNFINISHED.iter().find(|mark| holds(line, mark, |c| c.is_alphanumeric()));
        let path = |c: char| c.is_alphanumeric() || "_-./~}$".contains(c);
        let machine = MACHINE.iter().chain([&here]).find(|start| holds(line, start, path));
        let name = |c: char| c.is_alphanumeric() || c == '_';
        let old = REPLACED.iter().find(|start| holds(line, start, name));
        found.extend(old.map(|start| (index + 1, format!("a replaced name: {start}…"))));
        found.extend(mark.map(|mark| (index + 1, format!("unfinished: {mark}"))));
        found.extend(machine.map(|start| (index + 1, format!("a local path: {start}…"))));
    }
    found
}

/// Whether `line` contains `needle` and the character before it is not part of the same word or
/// path.
fn holds(line: &str, needle: &str, belongs: impl Fn(char) -> bool) -> bool {
    line.match_indices(needle).any(|(at, _)| !line[..at].chars().next_back().is_some_and(&belongs))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        findings(text, "/srv/checkout").into_iter().map(|(line, _)| line).collect()
    }

    #[test]
    fn unfinished_work_is_found() {
        let [first, second, third, fourth] = UNFINISHED;
        assert_eq!(lines(&format!("fine\n// {first}: later\n#{second}")), [2, 3]);
        assert_eq!(lines(&format!("{third})\nlet x = {fourth});")), [1, 2]);
        assert_eq!(lines(&format!("a hash: aB{first}9+/=")), [0; 0]);
    }

    #[test]
    fn replaced_names_are_found_and_longer_names_are_not() {
        for start in REPLACED {
            assert_eq!(lines(&format!("use tidegate::{start}")), [1], "{start}");
            assert_eq!(lines(&format!("Retry{start}")), [0; 0], "{start}");
        }
    }

    #[test]
    fn local_paths_are_found_and_other_paths_are_not() {
        for start in MACHINE {
            assert_eq!(lines(&format!("see {start}/x")), [1], "{start}");
            assert_eq!(lines(&format!("(`{start}`)")), [1], "{start}");
            assert_eq!(lines(&format!("core{start}/x")), [0; 0], "{start}");
            assert_eq!(lines(&format!("https://example.org{start}")), [0; 0], "{start}");
        }
        assert_eq!(lines("cd /srv/checkout/core"), [1]);
        assert_eq!(lines("/usr/bin/cargo, /tmp, /dev/null, target/debian"), [0; 0]);
    }
}
