//! `cargo xtask mutants`: changes core in one place at a time, and lists the changes that no test
//! detects.
//!
//! All changes are compiled into one build, and the environment activates one (`change`, `tree`). So a
//! change costs no build, and only the tests that reach it run (`trial`). `tests/golden/mutants.md`
//! lists the known survivors with their reasons (`known`).

mod area;
mod change;
mod known;
mod results;
mod tree;
mod trial;

use std::collections::HashMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use clap::Args;
use serde_json::json;

use crate::no_such;
use crate::workspace::root;
use area::{AREAS, Area};
use results::{Key, Results};
use tree::Tree;
use trial::{Test, Verdict};

const PAGE: &str = "tests/golden/mutants.md";

#[derive(Args)]
pub struct Mutants {
    /// How many tests run at the same time
    #[arg(long, default_value_t = 2, value_name = "N", value_parser = clap::value_parser!(u8).range(1..))]
    jobs: u8,
    /// Update the table of the areas in tests/golden/mutants.md
    #[arg(long)]
    write: bool,
    /// Print rows `{"area","changes","detected","endless","unbuilt","survive","unknown"}`
    #[arg(long)]
    json: bool,
    /// Parts of core, such as `gate` or `queue` [default: all of them]
    #[arg(value_name = "AREA")]
    areas: Vec<String>,
}

/// The results for the changes of an area.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    changes: usize,
    detected: usize,
    endless: usize,
    unbuilt: usize,
    survive: usize,
}

/// A change that is tried.
struct Candidate {
    area: usize,
    key: Key,
    line: usize,
    /// Identifies the file's text.
    source: String,
    number: u32,
    /// The number that tests record when they reach it.
    place: u32,
}

/// Fails if an unknown change survives.
pub fn run(mutants: &Mutants) -> Result<ExitCode> {
    let names = AREAS.each_ref().map(|area| area.name);
    if let Some(unknown) = mutants.areas.iter().find(|asked| !names.contains(&asked.as_str())) {
        return Ok(no_such("area", unknown, &names));
    }
    let folder = root().join("target/mutants");
    let inputs = inputs()?;
    let mut results: Vec<Results> = Vec::new();
    for area in &AREAS {
        results.push(Results::open(&folder.join(area.name), &inputs)?);
    }
    let mut tree = Tree::read()?;
    let mut candidates = candidates(&tree)?;
    for candidate in &candidates {
        if results[candidate.area].get(&candidate.key, &candidate.source) == Some(&Verdict::Unbuilt)
        {
            tree.unbuilt.insert(candidate.number);
        }
    }
    let programs = tree.build()?;
    for candidate in &mut candidates {
        if tree.unbuilt.contains(&candidate.number) {
            let results = &mut results[candidate.area];
            if results.get(&candidate.key, &candidate.source) != Some(&Verdict::Unbuilt) {
                results.put(candidate.key.clone(), &candidate.source, Verdict::Unbuilt)?;
            }
        }
        candidate.place = tree.recorded_as(candidate.number);
    }
    let tests = trial::record(&programs, &folder, &inputs)?;
    let page = fs::read_to_string(root().join(PAGE)).with_context(|| PAGE.to_owned())?;
    let asked = |area: &Area| {
        mutants.areas.is_empty() || mutants.areas.iter().any(|name| name == area.name)
    };
    let (mut counts, mut all_known) = (Vec::new(), true);
    for (index, area) in AREAS.iter().enumerate().filter(|(_, area)| asked(area)) {
        let of_area: Vec<&Candidate> = candidates.iter().filter(|c| c.area == index).collect();
        let verdicts = try_all(area, &of_area, &tests, &mut results[index], mutants.jobs)?;
        let count = count(&verdicts);
        let survivors = survivors(&of_area, &verdicts);
        let names: Vec<String> = survivors.iter().map(|(name, _)| name.clone()).collect();
        let unknown = known::unknown(&names, &page);
        all_known &= unknown.is_empty();
        report(area, count, &unknown, &survivors, mutants.json);
        for row in known::obsolete(&names, &page, |file| area.holds(file)) {
            eprintln!("  {PAGE} lists a change that does not survive any more: {row}");
        }
        counts.push((area.name, count));
    }
    if !all_known {
        eprintln!("Add a test that detects it, or a row with the reason to {PAGE}.");
    }
    if mutants.write {
        fs::write(root().join(PAGE), known::with_table(&page, &counts))?;
    }
    Ok(ExitCode::from(u8::from(!all_known)))
}

fn report(
    area: &Area,
    count: Count,
    unknown: &[usize],
    survivors: &[(String, String)],
    as_json: bool,
) {
    let unknown: Vec<&(String, String)> =
        unknown.iter().filter_map(|index| survivors.get(*index)).collect();
    let Count { changes, detected, endless, unbuilt, survive } = count;
    let name = area.name;
    if as_json {
        let unknown: Vec<&str> = unknown.iter().map(|(name, _)| name.as_str()).collect();
        let row = json!({
            "area": name, "changes": changes, "detected": detected, "endless": endless,
            "unbuilt": unbuilt, "survive": survive, "unknown": unknown,
        });
        println!("{row}");
        return;
    }
    println!(
        "{name:<10} {changes:>4} changes: {detected} detected, {endless} never end, {unbuilt} do not \
         build, {survive} survive, {} of them without a known reason",
        unknown.len()
    );
    for (name, place) in unknown {
        println!("  {name} ({place})");
    }
}

/// The changes of all areas, in order.
fn candidates(tree: &Tree) -> Result<Vec<Candidate>> {
    let mut same: HashMap<(String, String), usize> = HashMap::new();
    let mut candidates = Vec::new();
    for (file, source) in &tree.sources {
        let area = AREAS.iter().position(|area| area.holds(file));
        let area = area.ok_or_else(|| anyhow!("core/src/{file} belongs to no area"))?;
        let text = identify(source.text());
        for change in source.changes() {
            let nth = same.entry((file.clone(), change.name.clone())).or_default();
            candidates.push(Candidate {
                area,
                key: (file.clone(), change.name.clone(), *nth),
                line: change.line,
                source: text.clone(),
                number: change.number,
                place: change.number,
            });
            *nth += 1;
        }
    }
    Ok(candidates)
}

/// Tries the changes that have no result yet. Shows progress.
fn try_all(
    area: &Area,
    candidates: &[&Candidate],
    tests: &[Test],
    results: &mut Results,
    jobs: u8,
) -> Result<Vec<Verdict>> {
    let left: Vec<&&Candidate> = candidates
        .iter()
        .filter(|candidate| results.get(&candidate.key, &candidate.source).is_none())
        .collect();
    let since = Instant::now();
    let next = Mutex::new(left.iter().enumerate());
    let results_of = Mutex::new(&mut *results);
    let work = || -> Result<()> {
        loop {
            let taken = next.lock().ok().and_then(|mut next| next.next());
            let Some((index, candidate)) = taken else { return Ok(()) };
            let verdict = trial::run(tests, candidate.place, candidate.number)?;
            if index % 50 == 49 {
                let (name, all, took) = (area.name, left.len(), since.elapsed().as_secs());
                eprintln!("  …     {name}: {} of {all} ({took} s so far)", index + 1);
            }
            if let Ok(mut results) = results_of.lock() {
                results.put(candidate.key.clone(), &candidate.source, verdict)?;
            }
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| {
            worker.join().unwrap_or_else(|_| Err(anyhow!("a worker panicked")))
        })
    })?;
    let verdict = |candidate: &&Candidate| results.get(&candidate.key, &candidate.source).cloned();
    candidates.iter().map(verdict).collect::<Option<_>>().context("a result is missing")
}

fn count(verdicts: &[Verdict]) -> Count {
    let mut count = Count { changes: verdicts.len(), ..Count::default() };
    for verdict in verdicts {
        *match verdict {
            Verdict::Detected(_) => &mut count.detected,
            Verdict::Endless(_) => &mut count.endless,
            Verdict::Unbuilt => &mut count.unbuilt,
            Verdict::Survives | Verdict::Unreached => &mut count.survive,
        } += 1;
    }
    count
}

/// The survivors as the page names them, and where they are.
fn survivors(candidates: &[&Candidate], verdicts: &[Verdict]) -> Vec<(String, String)> {
    let survivors = candidates.iter().zip(verdicts).filter_map(|(candidate, verdict)| {
        let how = match verdict {
            Verdict::Survives => "",
            Verdict::Unreached => ", which no test reaches",
            _ => return None,
        };
        let (file, change, _) = &candidate.key;
        Some((format!("core/src/{file}: {change}"), format!("line {}{how}", candidate.line)))
    });
    survivors.collect()
}

/// Identifies everything that the tests depend on.
fn inputs() -> Result<String> {
    let mut hasher = DefaultHasher::new();
    for of in ["core", "tests/conformance", "tests/promises", "tests/vectors", "Cargo.lock"] {
        hash(&root().join(of), &mut hasher)?;
    }
    Ok(format!("{:016x}", hasher.finish()))
}

fn hash(path: &Path, hasher: &mut DefaultHasher) -> Result<()> {
    if !path.is_dir() {
        path.strip_prefix(root()).unwrap_or(path).hash(hasher);
        fs::read(path).with_context(|| path.display().to_string())?.hash(hasher);
        return Ok(());
    }
    let entries = fs::read_dir(path).with_context(|| path.display().to_string())?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    paths.iter().try_for_each(|path| hash(path, hasher))
}

fn identify(text: &str) -> String {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_core_is_in_exactly_one_area() {
        let mut files = Vec::new();
        tree::walk(&root().join("core/src"), "", &mut files).unwrap();
        for file in &files {
            let areas: Vec<&str> =
                AREAS.iter().filter(|area| area.holds(file)).map(|area| area.name).collect();
            assert_eq!(areas.len(), 1, "{file} is in {areas:?}");
        }
        for area in &AREAS {
            assert!(files.iter().any(|file| area.holds(file)), "{} is empty", area.name);
        }
    }
}
