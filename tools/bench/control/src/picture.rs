//! The chart: for each law, the share of throttled calls and the used share of the server.

use std::fmt::Write;

use tidegate_sim::metric::median;
use tidegate_sim::{Scenario, controllers};

use crate::bars::LAW;
use crate::metric::use_and_throttled;
use crate::page::ORACLE;
use crate::rows::Rows;

const WIDTH: f64 = 960.0;
/// How far the longest names extend to the left of the drawing's origin.
const MARGIN: f64 = 24.0;
/// The position of the first row, and the distance between rows.
const TOP: f64 = 118.0;
const ROW: f64 = 21.0;
/// Smaller shares are drawn at the edge.
const LEAST: f64 = 1e-4;

/// One half of the chart: a share on a logarithmic axis.
struct Panel {
    head: &'static str,
    left: f64,
    right: f64,
    /// Whether the share grows to the left.
    turned: bool,
    ticks: [(f64, &'static str); 5],
}

const THROTTLED: Panel = Panel {
    head: "calls throttled: less is better",
    left: 136.0,
    right: 506.0,
    turned: false,
    ticks: [(1e-4, "≤ 0.01 %"), (1e-3, "0.1 %"), (1e-2, "1 %"), (0.1, "10 %"), (1.0, "100 %")],
};
const UNUSED: Panel = Panel {
    head: "used of what the server could serve: more is better",
    left: 584.0,
    right: 912.0,
    turned: true,
    ticks: [(1.0, "0 %"), (0.1, "90 %"), (1e-2, "99 %"), (1e-3, "99.9 %"), (1e-4, "≥ 99.99 %")],
};

impl Panel {
    fn x(&self, share: f64) -> f64 {
        let decades = (share.clamp(LEAST, 1.0) / LEAST).log10() / (1.0 / LEAST).log10();
        let part = if self.turned { 1.0 - decades } else { decades };
        self.left + (self.right - self.left) * part
    }
}

/// The shares of a law in all scenarios, in ascending order.
struct Strip<'a> {
    law: &'a str,
    throttled: Vec<f64>,
    unused: Vec<f64>,
    /// The median over the scenarios of the lost shares of calls and server combined.
    lost: f64,
}

/// Draws all laws over all scenarios with use and throttled calls.
pub fn draw(rows: &Rows, scenarios: &[Scenario], laws: &[&str]) -> String {
    // Scenarios with a single law are left out.
    let compared: Vec<&str> = scenarios
        .iter()
        .map(|scenario| scenario.name.as_str())
        .filter(|name| laws.iter().filter(|law| rows.get(name, law).is_some()).count() > 1)
        .filter(|name| use_and_throttled(name).is_some())
        .collect();
    let strips = laws.iter().filter_map(|law| strip(rows, &compared, law));
    let mut strips: Vec<Strip> = strips.collect();
    // The best first, after the oracle.
    strips.sort_by(|one, other| {
        (one.law != ORACLE).cmp(&(other.law != ORACLE)).then(one.lost.total_cmp(&other.lost))
    });
    let mut svg = frame(strips.len(), compared.len());
    for (index, strip) in strips.iter().enumerate() {
        strip.draw(&mut svg, TOP + ROW * (index as f64 + 0.5));
    }
    svg.push_str("</svg>\n");
    svg
}

fn strip<'a>(rows: &Rows, scenarios: &[&str], law: &'a str) -> Option<Strip<'a>> {
    let (mut throttled, mut unused) = (Vec::new(), Vec::new());
    for scenario in scenarios {
        let Some((used, bad)) = use_and_throttled(scenario) else { continue };
        let metric = |name| rows.metric(scenario, law, name);
        if let (Some(used), Some(bad)) = (metric(used), metric(bad)) {
            throttled.push(bad);
            unused.push(1.0 - used.min(1.0));
        }
    }
    let lost = median(throttled.iter().zip(&unused).map(|(throttled, unused)| throttled + unused))?;
    throttled.sort_by(f64::total_cmp);
    unused.sort_by(f64::total_cmp);
    Some(Strip { law, throttled, unused, lost })
}

impl Strip<'_> {
    fn draw(&self, svg: &mut String, y: f64) {
        let class = match self.law {
            LAW => "own",
            ORACLE => "oracle",
            law if controllers::is_law(law) => "law",
            _ => "peer",
        };
        if self.law == LAW {
            let (top, wide) = (y - ROW / 2.0, WIDTH - 16.0);
            _ = writeln!(
                svg,
                r#"<rect class="lane" x="8" y="{top:.1}" width="{wide}" height="{ROW}" rx="4"/>"#
            );
        }
        let from = THROTTLED.left - 14.0;
        _ = writeln!(
            svg,
            r#"<text class="{class}" x="{from}" y="{:.1}" text-anchor="end">{}</text>"#,
            y + 4.5,
            self.law
        );
        for (panel, shares) in [(&THROTTLED, &self.throttled), (&UNUSED, &self.unused)] {
            let quarter = |part: usize| shares.get(shares.len() * part / 4).copied().unwrap_or(0.0);
            let (one, other) = (panel.x(quarter(1)), panel.x(quarter(3)));
            let (from, wide) = (one.min(other) - 3.0, (one - other).abs() + 6.0);
            _ = writeln!(
                svg,
                r#"<rect class="{class} half" x="{from:.1}" y="{:.1}" width="{wide:.1}" height="6" rx="3"/>"#,
                y - 3.0
            );
            for share in shares {
                _ = writeln!(
                    svg,
                    r#"<circle class="{class} one" cx="{:.1}" cy="{y:.1}" r="2"/>"#,
                    panel.x(*share)
                );
            }
            let middle = median(shares.iter().copied()).unwrap_or(0.0);
            let size = if self.law == LAW { 7.0 } else { 5.0 };
            _ = writeln!(
                svg,
                r#"<circle class="{class}" cx="{:.1}" cy="{y:.1}" r="{size}"/>"#,
                panel.x(middle)
            );
        }
    }
}

/// Everything except the data: colours for light and dark mode, title, axes.
fn frame(laws: usize, scenarios: usize) -> String {
    let bottom = TOP + ROW * laws as f64;
    let (wide, height) = (WIDTH + MARGIN, bottom + 40.0);
    let mut svg = format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="-{MARGIN} 0 {wide} {height}" width="{wide}" height="{height}" role="img" aria-label="Calls throttled and server used, for each law">
<style>
svg {{ --ink: #1f2328; --soft: #59636e; --line: #d8dee4; --page: #ffffff; --lane: #e3f4ec; --own: #0a7f5a; --law: #4a6fa5; --peer: #a8611c; }}
@media (prefers-color-scheme: dark) {{
svg {{ --ink: #e6edf3; --soft: #9198a1; --line: #30363d; --page: #0d1117; --lane: #12291f; --own: #3fd69b; --law: #86a9dc; --peer: #dd9a55; }}
}}
text {{ font: 13px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: var(--soft); }}
.title {{ font-size: 19px; font-weight: 600; fill: var(--ink); }}
.head {{ font-weight: 600; fill: var(--ink); }}
.page {{ fill: var(--page); }} .lane {{ fill: var(--lane); }}
.grid {{ stroke: var(--line); stroke-width: 1; }}
.own {{ fill: var(--own); }} text.own {{ font-weight: 700; font-size: 15px; }}
.law {{ fill: var(--law); }} .peer {{ fill: var(--peer); }} .oracle {{ fill: var(--soft); }}
text.oracle {{ font-style: italic; }}
.half {{ opacity: .35; }} .one {{ opacity: .3; }}
</style>
<rect class="page" x="-{MARGIN}" width="{wide}" height="{height}"/>
<text class="title" x="18" y="32">What each law loses: throttled calls and unused capacity</text>
<text x="18" y="54"><tspan class="own">adaptive</tspan>, <tspan class="law">tidegate's other laws</tspan>, <tspan class="peer">other libraries</tspan>: {scenarios} scenarios (small dots), their median (large dot), their middle half (bar).</text>
"##
    );
    for panel in [&THROTTLED, &UNUSED] {
        let middle = panel.left.midpoint(panel.right);
        _ = writeln!(
            svg,
            r#"<text class="head" x="{middle}" y="84" text-anchor="middle">{}</text>"#,
            panel.head
        );
        for (share, text) in panel.ticks {
            let x = panel.x(share);
            _ = writeln!(
                svg,
                r#"<line class="grid" x1="{x:.1}" y1="{TOP}" x2="{x:.1}" y2="{bottom}"/>"#
            );
            for y in [TOP - 8.0, bottom + 20.0] {
                _ = writeln!(
                    svg,
                    r#"<text x="{x:.1}" y="{y:.1}" text-anchor="middle">{text}</text>"#
                );
            }
        }
    }
    svg
}
