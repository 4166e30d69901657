//! The chart tests/golden/worlds.svg: median to 90th percentile for each law and set of hints.

use std::fmt::Write;

use super::page::OWN;
use super::{Family, Figure, Figures, Hints, Row};
use crate::controllers;

const WIDTH: f64 = 1_080.0;
/// The position of the first row, and the distance between rows.
const TOP: f64 = 118.0;
const ROW: f64 = 14.0;
/// The gap between two laws.
const GAP: f64 = 10.0;

/// A figure on a logarithmic axis.
struct Panel {
    head: &'static str,
    family: Family,
    of: fn(&Row) -> Option<Figure>,
    left: f64,
    right: f64,
    ticks: &'static [(f64, &'static str)],
}

const SHARES: &[(f64, &str)] =
    &[(1e-4, "≤ 0.01 %"), (1e-3, "0.1 %"), (1e-2, "1 %"), (0.1, "10 %"), (1.0, "100 %")];

const PANELS: [Panel; 3] = [
    Panel {
        head: "rejected, saturated worlds",
        family: Family::Saturated,
        of: |row| row.rejected,
        left: 262.0,
        right: 502.0,
        ticks: SHARES,
    },
    Panel {
        head: "unused, saturated worlds",
        family: Family::Saturated,
        of: |row| row.unused,
        left: 552.0,
        right: 792.0,
        ticks: SHARES,
    },
    Panel {
        head: "latency over an oracle's, app worlds",
        family: Family::App,
        of: |row| row.wait,
        left: 846.0,
        right: 1_036.0,
        ticks: &[(1.0, "1"), (10.0, "10"), (1e2, "100"), (1e3, "1000"), (1e4, "10 000")],
    },
];

impl Panel {
    fn x(&self, value: f64) -> f64 {
        let [first, .., last] = self.ticks else { return self.left };
        let part = (value.clamp(first.0, last.0) / first.0).log10() / (last.0 / first.0).log10();
        self.left + (self.right - self.left) * part
    }
}

/// Draws the figures of all laws and hints.
pub fn picture(figures: &Figures) -> String {
    let mut laws: Vec<&str> = Vec::new();
    for row in &figures.rows {
        if !laws.contains(&row.law.as_str()) {
            laws.push(&row.law);
        }
    }
    let mut rows = String::new();
    let mut y = TOP;
    for law in laws {
        let class = match law {
            OWN => "own",
            "oracle" => "oracle",
            law if controllers::is_law(law) => "law",
            _ => "peer",
        };
        let top = y;
        for hints in Hints::ALL {
            let find = |panel: &Panel| {
                let mut rows = figures.told().filter(|row| row.family == panel.family.name());
                (panel.of)(rows.find(|row| row.law == law && row.hints == hints.name())?)
            };
            let found = PANELS.each_ref().map(find);
            if found.iter().all(Option::is_none) {
                continue;
            }
            y += ROW;
            _ = writeln!(
                rows,
                r#"<text x="238" y="{:.1}" text-anchor="end">{}</text>"#,
                y - 2.5,
                hints.name()
            );
            for (panel, figure) in PANELS.iter().zip(found) {
                let Some(figure) = figure else { continue };
                let (from, to, worst) =
                    (panel.x(figure.median), panel.x(figure.p90), panel.x(figure.worst));
                let middle = y - ROW / 2.0;
                _ = writeln!(
                    rows,
                    r#"<g class="{class}"><rect class="bar" x="{from:.1}" y="{:.1}" width="{:.1}" height="5" rx="2.5"/><circle class="worst" cx="{worst:.1}" cy="{middle:.1}" r="1.7"/><circle cx="{from:.1}" cy="{middle:.1}" r="4"/></g>"#,
                    middle - 2.5,
                    (to - from).max(1.0)
                );
            }
        }
        if y > top {
            _ = writeln!(
                rows,
                r#"<text class="name {class}" x="18" y="{:.1}">{law}</text>"#,
                top + ROW - 2.5
            );
            y += GAP;
        }
    }
    frame(y) + &rows + "</svg>\n"
}

/// Everything except the data: colours for light and dark mode, title, axes.
fn frame(bottom: f64) -> String {
    let height = bottom + 34.0;
    let mut svg = format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img" aria-label="Rejected, unused and needless wait, for each law and set of hints">
<style>
svg {{ --ink: #1f2328; --soft: #59636e; --line: #d8dee4; --page: #ffffff; --own: #0a7f5a; --law: #4a6fa5; --peer: #a8611c; }}
@media (prefers-color-scheme: dark) {{
svg {{ --ink: #e6edf3; --soft: #9198a1; --line: #30363d; --page: #0d1117; --own: #3fd69b; --law: #86a9dc; --peer: #dd9a55; }}
}}
text {{ font: 11px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: var(--soft); }}
.title {{ font-size: 19px; font-weight: 600; fill: var(--ink); }}
.lead {{ font-size: 13px; }}
.head {{ font-size: 13px; font-weight: 600; fill: var(--ink); }}
.page {{ fill: var(--page); }}
.grid {{ stroke: var(--line); stroke-width: 1; }}
.name {{ font-size: 13px; font-weight: 600; }}
.own {{ fill: var(--own); }} .law {{ fill: var(--law); }} .peer {{ fill: var(--peer); }} .oracle {{ fill: var(--soft); }}
.bar {{ opacity: .35; }} .worst {{ opacity: .6; }}
</style>
<rect class="page" width="{WIDTH}" height="{height}"/>
<text class="title" x="18" y="32">What each law loses in random worlds</text>
<text class="lead" x="18" y="54">For each set of hints: the median (large dot), up to the 90th percentile (bar), and the worst world (small dot). Further left is better.</text>
"##
    );
    for panel in &PANELS {
        let middle = panel.left.midpoint(panel.right);
        let head = panel.head;
        _ = writeln!(
            svg,
            r#"<text class="head" x="{middle}" y="84" text-anchor="middle">{head}</text>"#
        );
        for (value, text) in panel.ticks {
            let x = panel.x(*value);
            _ = writeln!(
                svg,
                r#"<line class="grid" x1="{x:.1}" y1="{TOP}" x2="{x:.1}" y2="{bottom}"/>"#
            );
            for y in [TOP - 8.0, bottom + 16.0] {
                _ = writeln!(
                    svg,
                    r#"<text x="{x:.1}" y="{y:.1}" text-anchor="middle">{text}</text>"#
                );
            }
        }
    }
    svg
}
