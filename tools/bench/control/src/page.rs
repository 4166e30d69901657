//! The page: the targets, a summary, and a table for each scenario.

use std::fmt::Write;

use tidegate_sim::{Scenario, controllers};

use crate::bars::{self, LAW, Measured, Reached, WINDOWED};
use crate::metric::{self, head, telling, use_and_throttled, written};
use crate::reasons::{self, BOUNDS};
use crate::rows::Rows;

/// The peer that knows the server's schedule. It is not ranked.
pub const ORACLE: &str = "oracle";

/// The whole page for these scenarios and laws.
pub fn page(rows: &Rows, scenarios: &[Scenario], laws: &[&str], seeds: &str) -> String {
    let mut page = format!(
        "# Control\n\n\
         Every law in every scenario of \
         [tools/sim/scenarios](../../tools/sim/scenarios/README.md), which explains the metrics, and `{LAW}` in some more for its targets. Medians over the seeds \
         {seeds}, none of which was used to tune a law.\n\n\
         Written by `cargo xtask bench control`. The same commit, scenarios and seeds give the same \
         page on every machine.\n\n"
    );
    write_bars(&mut page, &bars::measured(rows));
    write_short(&mut page, rows, scenarios, laws);
    page.push_str(
        "## Every scenario\n\n\
         **Best** and *second best* of each column. `oracle` knows the server's schedule and is \
         not ranked. No column is meaningful alone: `none` never waits and uses all of a server, \
         but most of its calls are throttled. Names in `code` are tidegate's laws; the others are \
         other libraries.\n\n",
    );
    for scenario in scenarios {
        write_scenario(&mut page, rows, scenario, laws);
    }
    page.truncate(page.trim_end().len());
    page.push('\n');
    page
}

fn write_bars(page: &mut String, measured: &[Measured]) {
    if measured.is_empty() {
        return;
    }
    let count = |mark: fn(&Measured) -> Option<f64>, reached: &[Reached]| {
        let there = measured.iter().filter(|m| mark(m).is_some());
        let met = there.clone().filter(|m| reached.contains(&m.reached())).count();
        format!("{met} of {}", there.count())
    };
    let must = count(|m| m.must, &[Reached::Both, Reached::Must]);
    let aim = count(|m| m.aim, &[Reached::Both]);
    _ = writeln!(
        page,
        "## Targets of `{LAW}`\n\n{must} required values are reached, and {aim} aims.\n"
    );
    page.push_str(
        "| | scenario | metric | must | aim | is | |\n|---|---|---|---:|---:|---:|---|\n",
    );
    let mut before = "";
    for bar in measured {
        let about = if bar.about == before { "" } else { bar.about };
        before = bar.about;
        let with = if bar.law == LAW { String::new() } else { format!(", {}", bar.law) };
        let verdict = match (bar.reached(), bar.must) {
            (Reached::Both, _) if bar.aim.is_none() => "met",
            (Reached::Both, _) => "aim met",
            (Reached::Must, _) => "met, aim not",
            (Reached::No, None) => "aim not met",
            (Reached::No, Some(_)) => "**not met**",
        };
        _ = writeln!(
            page,
            "| {about} | {}{with} | {} | {} | {} | {} | {verdict} |",
            bar.scenario,
            head(bar.metric),
            bar.sign(bar.must),
            bar.sign(bar.aim),
            written(bar.metric, bar.figure),
        );
    }
    page.push('\n');
    write_reasons(page, measured);
}

/// Why targets are missed: one line per reason with all its targets.
fn write_reasons(page: &mut String, measured: &[Measured]) {
    let missed = measured.iter().filter(|m| m.reached() != Reached::Both);
    let mut lines: Vec<(&str, Vec<String>)> = Vec::new();
    for bar in missed {
        let why = reasons::reason(bar).unwrap_or("Not known.");
        let mark = format!("{}, {}", bar.scenario, head(bar.metric));
        match lines.iter_mut().find(|(known, _)| *known == why) {
            Some((_, marks)) => marks.push(mark),
            None => lines.push((why, vec![mark])),
        }
    }
    if lines.is_empty() {
        return;
    }
    _ = writeln!(page, "## Why targets are missed\n\n{BOUNDS}\n\n| missed | why |\n|---|---|");
    for (why, marks) in lines {
        _ = writeln!(page, "| {} | {why} |", marks.join("; "));
    }
    page.push('\n');
}

/// The figures of one law in the summary.
struct Brief {
    used: f64,
    throttled: f64,
    jain: Option<f64>,
}

fn brief(rows: &Rows, scenario: &str, law: &str) -> Option<Brief> {
    let (used, throttled) = use_and_throttled(scenario)?;
    let metric = |name| rows.metric(scenario, law, name);
    let jain = metric("jain_process").or(metric("jain_worker"));
    Some(Brief { used: metric(used)?, throttled: metric(throttled)?, jain })
}

fn write_short(page: &mut String, rows: &Rows, scenarios: &[Scenario], laws: &[&str]) {
    let mut lines = String::new();
    for scenario in scenarios {
        let name = scenario.name.as_str();
        let Some(own) = brief(rows, name, LAW) else { continue };
        let others = laws.iter().filter(|law| ![LAW, WINDOWED, ORACLE].contains(law));
        let as_busy = others.filter_map(|law| Some((*law, brief(rows, name, law)?)));
        let as_busy = as_busy.filter(|(_, other)| other.used >= own.used - 0.01);
        let Some((law, other)) =
            as_busy.min_by(|one, two| one.1.throttled.total_cmp(&two.1.throttled))
        else {
            continue;
        };
        let mark = if own.throttled <= other.throttled { "**" } else { "" };
        let cells = |brief: &Brief, mark: &str| {
            let jain = brief.jain.map_or("-".into(), |jain| format!("{jain:.3}"));
            let throttled = written("throttled", brief.throttled);
            format!("{} | {mark}{throttled}{mark} | {jain}", written("util", brief.used))
        };
        let others_mark = if mark.is_empty() { "**" } else { "" };
        _ = writeln!(
            lines,
            "| {name} | {} | {law} | {} |",
            cells(&own, mark),
            cells(&other, others_mark)
        );
    }
    if lines.is_empty() {
        return;
    }
    _ = write!(
        page,
        "## In short\n\n\
         `{LAW}` beside the law with the fewest throttled calls among those that use as much of the server, \
         minus one point. Used and throttled refer to the second half (a, day, s), the overload (d), the \
         time on (i), the ten minutes after the outage (f), the last two minutes (metastable), the fault \
         (black-hole, slow-503s), or the whole run.\n\n\
         | scenario | used | throttled | Jain | next best | used | throttled | Jain |\n\
         |---|---:|---:|---:|---|---:|---:|---:|\n{lines}\n"
    );
}

fn write_scenario(page: &mut String, rows: &Rows, scenario: &Scenario, laws: &[&str]) {
    let name = scenario.name.as_str();
    let laws: Vec<&str> =
        laws.iter().copied().filter(|law| rows.get(name, law).is_some()).collect();
    let value = |law: &str, metric: &str| rows.metric(name, law, metric);
    let metrics: Vec<&str> = telling(name)
        .iter()
        .copied()
        .filter(|metric| laws.iter().any(|law| value(law, metric).is_some()))
        .collect();
    if laws.is_empty() || metrics.is_empty() {
        return;
    }
    _ = writeln!(page, "### {name}\n\n{}\n", sentence(&scenario.title));
    let heads: Vec<String> = metrics.iter().map(|metric| head(metric)).collect();
    _ = writeln!(page, "| law | {} |\n|---|{}", heads.join(" | "), "---:|".repeat(metrics.len()));
    let ranked: Vec<&str> = laws.iter().copied().filter(|law| *law != ORACLE).collect();
    let podiums: Vec<[Option<String>; 2]> = metrics
        .iter()
        .map(|metric| {
            let figures = ranked.iter().filter_map(|law| value(law, metric)).collect();
            podium(metric, figures)
        })
        .collect();
    for law in &laws {
        let cells = metrics.iter().zip(&podiums).map(|(metric, [best, second])| {
            let Some(figure) = value(law, metric) else { return "-".into() };
            let text = written(metric, figure);
            let is = |place: &Option<String>| *law != ORACLE && place.as_ref() == Some(&text);
            let marks = if is(best) {
                "**"
            } else if is(second) {
                "*"
            } else {
                ""
            };
            format!("{marks}{text}{marks}")
        });
        let cells: Vec<String> = cells.collect();
        let own = if controllers::is_law(law) { "`" } else { "" };
        _ = writeln!(page, "| {own}{law}{own} | {} |", cells.join(" | "));
    }
    page.push('\n');
}

/// The best and second best figure as formatted, if figures differ.
fn podium(metric: &str, mut figures: Vec<f64>) -> [Option<String>; 2] {
    figures.sort_by(f64::total_cmp);
    if metric::is_better_high(metric) {
        figures.reverse();
    }
    let mut texts: Vec<String> =
        figures.into_iter().map(|figure| written(metric, figure)).collect();
    texts.dedup();
    match &texts[..] {
        [best, second, ..] => [Some(best.clone()), Some(second.clone())],
        _ => [None, None],
    }
}

fn sentence(title: &str) -> String {
    let mut letters = title.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("{first}{}.", letters.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_figures_share_a_rank_and_without_differences_there_is_none() {
        let text = |figures| podium("throttled", figures).map(|place| place.unwrap_or_default());
        assert_eq!(text(vec![0.3, 0.1, 0.100_001, 0.2]), ["10 %", "20 %"]);
        assert_eq!(text(vec![0.1, 0.1]), ["", ""]);
        assert_eq!(podium("util", vec![0.5, 0.9])[0].as_deref(), Some("90 %"));
    }
}
