//! The page: tests/golden/worlds.md.

use std::collections::BTreeMap;

use super::figures::{Judged, is_more};
use super::table::{cell, columns, number, percent};
use super::{Family, Figures, Hints, Purpose, Row, Settings};

/// The law whose hurt worlds are listed.
pub(super) const OWN: &str = "adaptive";

/// What a family is, in a sentence or two.
const fn about(family: Family) -> &'static str {
    match family {
        Family::Saturated => {
            "Clients ask for at least twice what there is. No limit is smaller than the number of clients."
        }
        Family::App => {
            "Clients ask for less than there is, so every wait is needless. Latency is that over an \
             oracle's that sees the server and never lets a call wait without need: that of hammering, in \
             the worlds where fewer than 0.2 % of the hammered calls are throttled."
        }
        Family::Cold => {
            "A job larger than what the server has at the start, which is all or nothing. Time is that over \
             the shortest possible; a job that is not done in time counts with the time it had."
        }
        Family::Steps => {
            "A bucket whose rate doubles and then falls to a quarter. Times are in intervals that a client \
             had before the step; what is not found counts with the time it had."
        }
        Family::Outages => {
            "An outage in which every call fails. The time until the rate is used again is that over the \
             outage's."
        }
        Family::Small => {
            "Limits smaller than the number of clients. Calls that know nothing of each other find a token \
             of a bucket of one with probability 1/(1+ρ), so ρ/(1+ρ) of it is used where ρ/(1+ρ) is \
             rejected. The first column is by how much less than that was used; below 0, calls do know of \
             each other."
        }
        Family::Strict => {
            "One client and a bucket of one, from one call an hour to an interval of twenty times the \
             jitter of the way there."
        }
        Family::Pools => "Limits of 5 to 40 calls, with no more clients than that and at most 8.",
        Family::Second => "Windows of one second, whose end is stated in whole seconds.",
        Family::Streams => "Saturated worlds whose calls take the server 2 seconds to 3 minutes.",
        Family::Lying => "Saturated worlds in which every hint is a lie.",
    }
}

/// The page about these figures.
pub fn page(purpose: Purpose, number: u64, settings: &Settings, figures: &Figures) -> String {
    let mut text = format!(
        "# Worlds\n\nLaws in worlds drawn at random ([how](../../tools/sim/scenarios/README.md#worlds-drawn-at-random)): \
         {} worlds from the number {number}, each with every set of hints, {} runs of each. Every cell is \
         median / 90th percentile / worst over the worlds. A law that reads no more than `Retry-After` has no \
         rows for further hints.\n\n\
         Written by `cargo xtask bench worlds --seed {number}`. Another number draws other worlds.\n\n\
         ![For each set of hints and each law: rejected, unused and needless wait](worlds.svg)\n",
        purpose.name(),
        settings.seeds,
    );
    text += &hurt(figures);
    for family in Family::ALL {
        let rows: Vec<&Row> = figures.told().filter(|row| row.family == family.name()).collect();
        let Some(first) = rows.first() else { continue };
        let columns = columns(family);
        let heads: String = columns.iter().map(|column| format!(" {} |", column.0)).collect();
        let lines = "---:|".repeat(columns.len());
        text += &format!(
            "\n## {}\n\n{} {} worlds.\n\n| hints | law |{heads}\n|---|---|{lines}\n",
            family.name(),
            about(family),
            first.worlds
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
    let mut text = String::from(
        "\n## Truthful hints that hurt\n\nIn how many worlds a law did worse with hints than without: half \
         as many calls again rejected and 0.3 points more, 3 points less used, Jain's index 0.1 lower, or \
         the mean latency a tenth higher. By chance: in how many worlds a second run without hints, \
         with other dice of the law, was worse by the same measure.\n\n\
         | law | hints | hurt | by chance | worlds |\n|---|---|---:|---:|---:|\n",
    );
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
