//! The parts. Each runs a measurement and reads its figures.

use std::fs;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::Soak;
use super::page::Section;
use crate::bench::thousands;
use crate::progress;
use crate::road::Roads;
use crate::test::hostile::{Profile, Programs, node_test};
use crate::workspace::{cargo, root};

/// The requested rate of the fleet, and the share of it that must be reached.
const RATE: u64 = 20_000;
const HELD: f64 = 0.95;
/// The highest allowed growth of memory from the first third of a run to the last.
const GROWTH_MIB: f64 = 8.0;

/// Runs a program that must succeed, and returns its output.
fn output(label: &str, command: Command) -> Result<String> {
    let ended = progress::run(label, command, None).with_context(|| label.to_owned())?;
    ensure!(ended.success(), "{label} failed\n{}", ended.output);
    Ok(ended.output)
}

/// The JSON document at the end of an output. It begins at the start of a line.
fn document(output: &str) -> Result<Value> {
    let starts = output.match_indices('{').map(|(at, _)| at);
    let mut lines = starts.filter(|at| *at == 0 || output.as_bytes().get(at - 1) == Some(&b'\n'));
    lines.find_map(|at| serde_json::from_str(&output[at..]).ok()).context("no figures were printed")
}

fn number(of: &Value, name: &str) -> Result<f64> {
    of[name].as_f64().with_context(|| format!("the figure `{name}` is missing"))
}

/// A count as `12 345`.
fn count(of: &Value, name: &str) -> Result<String> {
    Ok(thousands(number(of, name)? as u64))
}

pub fn polls(_: &mut Roads, soak: &Soak) -> Result<Section> {
    let test = |verb: &[&str]| {
        let mut command = cargo("test");
        command.args(["--release", "--package", "tidegate", "--test", "public"]).args(verb);
        command
    };
    output("building", test(&["--no-run"]))?;
    let mut command = test(&["long_time::idle::", "--", "--nocapture"]);
    command.env("TIDEGATE_POLLS", soak.polls.to_string());
    let since = Instant::now();
    let told = output("polling", command)?;
    let seconds = since.elapsed().as_secs_f64();
    // "adaptive      1000 polls", one per line.
    let polls: Vec<u64> = told
        .lines()
        .filter_map(|line| {
            line.trim().strip_suffix(" polls")?.split_whitespace().last()?.parse().ok()
        })
        .collect();
    ensure!(!polls.is_empty(), "the test did not report its polls:\n{told}");
    let mut section = Section::new(
        "Polls during a cooldown, half of them on a clock that stands still and half on one that \
        advances; at a full concurrency limit; and of throttled calls. Afterwards the controllers \
        are unchanged bit for bit except for their counters, and the wait ends at the same \
        nanosecond.",
    );
    let all = polls.iter().sum::<u64>();
    section.row("policies, a full window and a deadline", polls.len());
    section.row("polls", thousands(all));
    section.row("changes of a state, a decision or a wait", 0);
    section.row("seconds", format!("{seconds:.0}"));
    Ok(section)
}

pub fn load(_: &mut Roads, soak: &Soak) -> Result<Section> {
    let programs = Programs::build(Profile::Release)?;
    let mut command = Command::new(programs.live);
    command.args(["demo", "--json", "--no-page", "--law", "adaptive", "--seed", "7"]);
    command.args(["--processes", "4", "--workers", "32", "--latency", "0ms", "--burst", "2000"]);
    command.args(["--limit", &RATE.to_string(), "--seconds", &soak.seconds.to_string()]);
    let before = processor_of_children();
    let told = document(&output("calling", command)?)?;
    let processor = processor_of_children().zip(before).map(|(after, before)| after - before);
    let run = &told["runs"][0];
    let (calls, seconds) = (number(run, "offered")?, number(run, "seconds")?);
    let served = number(run, "served")? / seconds;
    ensure!(number(run, "lost")? == 0.0, "calls were lost: {run}");
    let mut section = Section::new(format!(
        "Four processes of 32 workers with `adaptive` and one server, which allows {} calls a second, \
         over persistent connections on loopback, all on this machine. {}",
        thousands(RATE),
        if served >= HELD * RATE as f64 { "The rate is held." } else { "The rate is not held." }
    ));
    section.row("seconds", seconds);
    section.row("calls served per second", thousands(served as u64));
    section.row("calls", count(run, "calls")?);
    section.row("calls throttled", format!("{:.2} %", 100.0 * number(run, "throttled")?));
    section.row("calls lost", count(run, "lost")?);
    if let Some(processor) = processor {
        let each = processor / calls;
        section.row("processor time per call, client and server", format!("{:.0} µs", each * 1e6));
        section.row("processors used", format!("{:.2}", processor / seconds));
        section.row("processors needed for the full rate", format!("{:.2}", each * RATE as f64));
    }
    let memory = run["memory_mib"].as_array().map(Vec::as_slice);
    ensure!(memory.is_some() || !cfg!(target_os = "linux"), "no memory was reported: {run}");
    if let Some([first, last]) = memory {
        let [first, last] = [first, last].map(|mib| mib.as_f64().unwrap_or(f64::NAN));
        ensure!(last - first <= GROWTH_MIB, "memory grew from {first:.1} to {last:.1} MiB");
        section.row(
            "memory of all five processes, mean of the first third",
            format!("{first:.1} MiB"),
        );
        section.row("and of the last third", format!("{last:.1} MiB"));
    }
    Ok(section)
}

/// Processor time in seconds of all child processes and their children; `None` without `/proc`.
fn processor_of_children() -> Option<f64> {
    const TICKS_A_SECOND: f64 = 100.0;
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The name, in parentheses, may contain anything.
    let mut words = stat.rsplit_once(')')?.1.split_whitespace().skip(13);
    let mut ticks = || words.next()?.parse::<f64>().ok();
    Some((ticks()? + ticks()?) / TICKS_A_SECOND)
}

pub fn keys(roads: &mut Roads, _: &Soak) -> Result<Section> {
    let report = root().join("target/soak-keys.json");
    let mut node = node_test(roads, "keys")?;
    node.env("TIDEGATE_ACCESSES", "1000000").env("TIDEGATE_KEYS_REPORT", &report);
    output("calling by key", node)?;
    let figures = fs::read_to_string(&report).with_context(|| report.display().to_string())?;
    let figures: Value = serde_json::from_str(&figures)?;
    let mut section = Section::new(
        "The npm package's table of keys in Node. First a table with room for all keys, each \
        called once. Then a table with room for a thousand keys, which always agrees with a plain \
        list of the expected keys and call counts.",
    );
    section.row("keys in one table", count(&figures, "kept")?);
    section.row("bytes per key", count(&figures, "bytesEach")?);
    section.row("new keys per second", count(&figures, "perSecond")?);
    section.row("accesses to a table of a thousand", count(&figures, "accesses")?);
    section.row("keys evicted", count(&figures, "evicted")?);
    section.row(
        "growth of memory in the second half of the accesses",
        format!("{} KiB", figures["grownKiB"]),
    );
    Ok(section)
}

pub fn fuzz(_: &mut Roads, soak: &Soak) -> Result<Section> {
    let each = (soak.minutes * 60 / 4).max(1);
    let mut command = Command::new(std::env::current_exe().context("cannot find this program")?);
    command.args(["fuzz", "--json", "--seconds", &each.to_string()]);
    let told = output("searching", command)?;
    let mut section = Section::new(
        "Coverage-guided fuzzing from the committed corpus, with all runtime checks enabled. A \
        finding fails the run.",
    );
    for line in told.lines().filter(|line| line.starts_with('{')) {
        let row: Value = serde_json::from_str(line)?;
        section.row(
            format!(
                "`{}`: inputs tried in {} s, and code locations reached",
                row["target"].as_str().unwrap_or(""),
                row["seconds"]
            ),
            format!("{}, {}", count(&row, "runs")?, count(&row, "reached")?),
        );
    }
    ensure!(!section.rows.is_empty(), "the search printed no figures:\n{told}");
    section.row("promises broken", 0);
    Ok(section)
}

/// How long each kind of server runs.
const MOOD_SECONDS: &str = "60";

pub fn hostile(roads: &mut Roads, _: &Soak) -> Result<Section> {
    let programs = Programs::build(Profile::Release)?;
    let mut command = Command::new(&programs.hostile);
    command.args(["run", "--json", "--seconds", MOOD_SECONDS, "--live"]).arg(&programs.live);
    let told = document(&output("the Rust client", command)?)?;
    let moods = told["moods"]
        .as_array()
        .filter(|moods| !moods.is_empty())
        .context("no server was tested")?;
    let node = output("fetch in Node", programs.in_node(roads)?)?;
    let mut section = Section::new(format!(
        "A client process with `adaptive`, four workers and a deadline of 3 s for each call, {MOOD_SECONDS} s \
         against each server; then every response of the fuzz corpus in Node, with its own headers \
         and with its values under known header names. Requirements: every call ends; at most 50 \
         calls in any second after the start to a server that serves none; no wait longer than a \
         day and a quarter (two hours after a throttled call); less than a quarter of a processor; \
         less than 64 MiB. Columns: attempts / most attempts in a second after the start / calls \
         that ended (most of them at once, because they would have missed their deadline)."
    ));
    for mood in moods {
        section.row(
            format!("`{}`", mood["mood"].as_str().unwrap_or("")),
            format!(
                "{} / {} / {}",
                count(mood, "attempts")?,
                count(mood, "busiest")?,
                thousands((number(mood, "answered")? + number(mood, "given_up")?) as u64)
            ),
        );
    }
    let most = |name: &str| {
        let figures = moods.iter().filter_map(|mood| mood[name].as_f64());
        figures.reduce(f64::max)
    };
    if let (Some(memory), Some(processor)) = (most("memory_kib"), most("processor")) {
        section.row("highest memory use of a client", format!("{:.1} MiB", memory / 1024.0));
        section.row("highest processor use of a client", format!("{:.1} %", 100.0 * processor));
    }
    match node
        .lines()
        .filter_map(|line| line.trim().strip_prefix("ℹ "))
        .find(|line| line.contains("responses"))
    {
        Some(line) => section.row("responses of the corpus", line),
        None => bail!("Node did not report what it read:\n{node}"),
    }
    Ok(section)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_is_found_after_other_output() {
        let value = |text: &str| document(text).ok().map(|value| value["a"].clone());
        assert_eq!(value("{\"a\":1}\n"), Some(1.into()));
        assert_eq!(value("{ not\nadaptive 1 s {x}\n{\n  \"a\": 2\n}\n"), Some(2.into()));
        assert_eq!(value("nothing\n"), None);
    }
}
