//! Tables for people.

use comfy_table::{CellAlignment, Table, presets};

use super::{Family, Figure, Figures, Row};

/// A column of a family: its name, its figure, and a factor.
type Column = (&'static str, fn(&Row) -> Option<Figure>, f64);

const REJECTED: Column = ("rejected %", |row| row.rejected, 100.0);
const UNUSED: Column = ("unused %", |row| row.unused, 100.0);
const UNFAIR: Column = ("1 − Jain", |row| row.unfair, 1.0);

/// The columns of a family.
pub(super) fn columns(family: Family) -> Vec<Column> {
    let more: Vec<Column> = match family {
        Family::App => {
            return vec![("latency over oracle's", |row| row.wait, 1.0), REJECTED, UNFAIR];
        }
        Family::Cold => return vec![("time over ideal", |row| row.cold, 1.0), REJECTED, UNFAIR],
        Family::Steps => vec![
            ("×2 found, intervals", |row| row.up, 1.0),
            ("×1/4 found, intervals", |row| row.down, 1.0),
        ],
        Family::Outages => vec![("back over outage", |row| row.back, 1.0)],
        Family::Small => vec![("below the bound, points", |row| row.bound, 100.0)],
        _ => vec![],
    };
    more.into_iter().chain([REJECTED, UNUSED, UNFAIR]).collect()
}

/// A number with about three digits.
pub(super) fn number(value: f64) -> String {
    let digits = match value.abs() {
        100.0.. => 0,
        10.0.. => 1,
        _ => 2,
    };
    format!("{value:.digits$}")
}

/// Median, 90th percentile and worst.
pub(super) fn cell(figure: Option<Figure>, times: f64) -> String {
    figure.map_or_else(
        || "-".into(),
        |it| [it.median, it.p90, it.worst].map(|value| number(value * times)).join(" / "),
    )
}

/// A share in per cent.
pub(super) fn percent(part: usize, whole: usize) -> String {
    format!("{:.1} %", 100.0 * part as f64 / whole.max(1) as f64)
}

/// All tables, for a terminal.
pub fn tables(figures: &Figures) -> String {
    let mut text = String::new();
    for family in Family::ALL {
        let rows: Vec<&Row> =
            figures.rows.iter().filter(|row| row.family == family.name()).collect();
        let Some(first) = rows.first() else { continue };
        let columns = columns(family);
        let heads = columns.iter().map(|column| column.0);
        let mut table = new(["law", "hints"].into_iter().chain(heads).chain(["hurt"]));
        for row in &rows {
            let cells = columns.iter().map(|(_, of, times)| cell(of(row), *times));
            let hurt = row.hurt.map_or_else(|| "-".into(), |hurt| hurt.to_string());
            table.add_row(
                [row.law.clone(), row.hints.into()].into_iter().chain(cells).chain([hurt]),
            );
        }
        text += &format!("{}: {} worlds\n{}\n\n", family.name(), first.worlds, right(table));
    }
    if figures.judged.is_empty() {
        return text;
    }
    let mut table = new(["law", "hints", "hurt", "by chance", "worlds"]);
    for it in &figures.judged {
        let share = |part| percent(part, it.worlds);
        let cells = [share(it.hurt), share(it.by_chance), it.worlds.to_string()];
        table.add_row([it.law.clone(), it.hints.into()].into_iter().chain(cells));
    }
    text += &format!("true hints that hurt\n{}\n\n", right(table));
    for it in &figures.hurt {
        let shown = |of: &[Option<f64>; 4]| {
            let [rejected, unused, unfair, latency] =
                [(of[0], 100.0), (of[1], 100.0), (of[2], 1.0), (of[3], 1.0)]
                    .map(|(value, times)| value.map_or("-".into(), |it| number(it * times)));
            format!("{rejected} % · {unused} % · {unfair} · {latency} ms")
        };
        let (blind, told) = (shown(&it.blind), shown(&it.told));
        let why = it.why.join(", ");
        text += &format!("{} {}: {why}: {blind} → {told} ({})\n", it.law, it.scenario, it.title);
    }
    text
}

fn new<'a>(heads: impl IntoIterator<Item = &'a str>) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_header(heads);
    table
}

/// Aligns figures to the right and names to the left.
fn right(mut table: Table) -> Table {
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}
