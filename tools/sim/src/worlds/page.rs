//! The page tests/golden/worlds.md.

use std::collections::BTreeMap;

use super::figures::{Judged, is_more};
use super::{Family, Figure, Figures, Hints, Purpose, Row, Settings};

pub(super) const OWN: &str = "adaptive";

pub fn page(purpose: Purpose, number: u64, settings: &Settings, figures: &Figures) -> String {
    let mut text = format!(
        include_str!("page.txt"),
        worlds = purpose.name(),
        seed = number,
        runs = settings.seeds,
    );
    text += &hurt(figures);
    for family in Family::ALL {
        let rows: Vec<&Row> = figures.told().filter(|row| row.family == family.name()).collect();
        let Some(first) = rows.first() else { continue };
        let columns = columns(family);
        let heads: String = columns.iter().map(|column| format!(" {} |", column.0)).collect();
        let lines = "---:|".repeat(columns.len());
        text += &format!(
            "\n## {}\n\n{} worlds: {}.\n\n| hints | law |{heads}\n|---|---|{lines}\n",
            family.name(),
            first.worlds,
            family.about(),
        );
        for hints in Hints::ALL {
            for row in rows.iter().filter(|row| row.hints == hints.name()) {
                let cells =
                    columns.iter().map(|(_, of, times)| format!(" {} |", cell(of(row), *times)));
                text += &format!("| {} | {} |{}\n", row.hints, row.law, cells.collect::<String>());
            }
        }
    }
    text
}

fn hurt(figures: &Figures) -> String {
    if figures.judged.is_empty() {
        return String::new();
    }
    let mut text = String::from(include_str!("hurt.txt"));
    let more = |it: &&Judged| !is_more(it.hints) || figures.reads_more(&it.law);
    for it in figures.judged.iter().filter(more) {
        let (hurt, chance) = (percent(it.hurt, it.worlds), percent(it.by_chance, it.worlds));
        text += &format!("| {} | {} | {hurt} | {chance} | {} |\n", it.law, it.hints, it.worlds);
    }
    let own: Vec<_> = figures.hurt.iter().filter(|it| it.law == OWN).collect();
    let mut reasons = BTreeMap::new();
    for it in &own {
        *reasons.entry(it.reason).or_insert(0) += 1;
    }
    let reasons: Vec<_> =
        reasons.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    if !own.is_empty() {
        text += &format!(
            "\nThe worlds where a hint hurt `{OWN}`: without it → with it. By their reasons: {}.\n\n\
             | world and hints | what it is | rejected % | unused % | 1 − Jain | latency, ms | reason |\n\
             |---|---|---:|---:|---:|---:|---|\n",
            reasons.join("; ")
        );
    }
    for it in own {
        let names = [("rejected", 100.0), ("unused", 100.0), ("unfair", 1.0), ("latency", 1.0)];
        let change = |index: usize| {
            let shown =
                |of: [Option<f64>; 4]| of[index].map(|value| number(value * names[index].1));
            let Some((blind, told)) = shown(it.blind).zip(shown(it.told)) else {
                return " |".into();
            };
            let bold = if it.why.contains(&names[index].0) { "**" } else { "" };
            format!(" {bold}{blind} → {told}{bold} |")
        };
        let changes: String = (0..names.len()).map(change).collect();
        text += &format!("| {} | {} |{changes} {} |\n", it.scenario, it.title, it.reason);
    }
    text
}

/// A column of a family: its name, its figure, and a factor.
type Column = (&'static str, fn(&Row) -> Option<Figure>, f64);

const REJECTED: Column = ("rejected %", |row| row.score.rejected, 100.0);
const UNUSED: Column = ("unused %", |row| row.score.unused, 100.0);
const UNFAIR: Column = ("1 − Jain", |row| row.score.unfair, 1.0);

fn columns(family: Family) -> Vec<Column> {
    let more: Vec<Column> = match family {
        Family::App | Family::Cron | Family::Wake | Family::Near | Family::Light => {
            return vec![("latency over oracle's", |row| row.wait, 1.0), REJECTED, UNFAIR];
        }
        Family::Cold => {
            return vec![("time over ideal", |row| row.score.job, 1.0), REJECTED, UNFAIR];
        }
        Family::Strangers => vec![("time over even split", |row| row.score.job, 1.0)],
        Family::Steps => vec![
            ("×2 found, intervals", |row| row.score.up, 1.0),
            ("×1/4 found, intervals", |row| row.score.down, 1.0),
        ],
        Family::Leaps => {
            vec![("rise found", |row| row.score.up, 1.0), ("fall found", |row| row.score.down, 1.0)]
        }
        // The interval of its client is 10 ms.
        Family::Latecomer => vec![
            ("lacking %", |row| row.score.lacking, 100.0),
            ("×2 found, s", |row| row.score.up, 0.01),
        ],
        Family::Outages => vec![("back over outage", |row| row.score.back, 1.0)],
        Family::Small => vec![("below the bound, points", |row| row.bound, 100.0)],
        _ => vec![],
    };
    more.into_iter().chain([REJECTED, UNUSED, UNFAIR]).collect()
}

/// A number with about three digits.
fn number(value: f64) -> String {
    let digits = match value.abs() {
        100.0.. => 0,
        10.0.. => 1,
        _ => 2,
    };
    format!("{value:.digits$}")
}

/// Median, 90th percentile and worst.
fn cell(figure: Option<Figure>, times: f64) -> String {
    figure.map_or_else(
        || "-".into(),
        |it| [it.median, it.p90, it.worst].map(|value| number(value * times)).join(" / "),
    )
}

fn percent(part: usize, whole: usize) -> String {
    format!("{:.1} %", 100.0 * part as f64 / whole.max(1) as f64)
}
