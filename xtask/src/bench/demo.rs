//! The README's picture of the demo: calls sent and served in each second, with and without a law.

use std::fmt::Write;
use std::fs;
use std::process::Command;

use anyhow::{Result, ensure};

use crate::programs;
use crate::progress::step;
use crate::workspace::root;

const LAWS: [(&str, &str); 2] = [("none", "without a throttle"), ("adaptive", "with adaptive")];
/// The default limit of the demo's API, in calls a second.
const LIMIT: f64 = 60.0;

/// Runs the demo and writes tests/golden/demo.svg.
pub fn run() -> Result<()> {
    step("building", programs::live())?;
    let mut demo = Command::new(programs::path(programs::LIVE));
    demo.args(["demo", "--no-page", "--seed", "1"]);
    let picture = draw(&step("the demo, in real time", demo)?)?;
    fs::write(root().join("tests/golden/demo.svg"), picture)?;
    eprintln!("written to tests/golden/demo.svg");
    Ok(())
}

/// One second of a run: calls sent and calls served.
type Second = (f64, f64);

/// Reads the demo's lines, such as `adaptive 3 s  offered 65/s  served 60/s  …`.
fn seconds(output: &str, law: &str) -> Result<Vec<Second>> {
    let mut seconds = Vec::new();
    for line in output.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, _, "s", "offered", sent, "served", served, ..] = words[..] else { continue };
        if name == law {
            let rate = |word: &str| word.trim_end_matches("/s").parse::<f64>();
            seconds.push((rate(sent)?, rate(served)?));
        }
    }
    ensure!(seconds.len() > 1, "the demo printed no seconds of {law}:\n{output}");
    Ok(seconds)
}

/// A panel's width, height and top.
const PANEL: (f64, f64, f64) = (300.0, 150.0, 84.0);
/// The rates on the logarithmic axis.
const TICKS: [f64; 4] = [10.0, 60.0, 300.0, 1500.0];

fn y(rate: f64) -> f64 {
    let (least, most) = (TICKS[0], TICKS[3]);
    let part = (rate.clamp(least, most) / least).ln() / (most / least).ln();
    PANEL.2 + PANEL.1 * (1.0 - part)
}

fn draw(output: &str) -> Result<String> {
    let mut svg = String::from(HEAD);
    for (index, (law, title)) in LAWS.iter().enumerate() {
        let left = 60.0 + index as f64 * 350.0;
        let seconds = seconds(output, law)?;
        _ = writeln!(svg, r#"<text class="head" x="{left}" y="70">{title}</text>"#);
        for tick in TICKS {
            let (class, y) = (if tick == LIMIT { "limit" } else { "grid" }, y(tick));
            _ = writeln!(svg, r#"<path class="{class}" d="M{left} {y:.1}h{}"/>"#, PANEL.0);
            if index == 0 {
                _ = writeln!(svg, r#"<text class="tick" x="52" y="{:.1}">{tick}</text>"#, y + 4.0);
            }
        }
        for (class, rate) in [("sent", (|it| it.0) as fn(&Second) -> f64), ("served", |it| it.1)] {
            let mut path = String::new();
            for (second, rate) in seconds.iter().map(rate).enumerate() {
                let x = left + PANEL.0 * second as f64 / (seconds.len() - 1) as f64;
                _ = write!(path, "{}{x:.1} {:.1}", if second == 0 { 'M' } else { 'L' }, y(rate));
            }
            _ = writeln!(svg, r#"<path class="{class}" d="{path}"/>"#);
        }
        let (right, below) = (left + PANEL.0, PANEL.2 + PANEL.1 + 20.0);
        _ = writeln!(svg, r#"<text x="{left}" y="{below}">1 s</text>"#);
        let last = seconds.len();
        _ = writeln!(svg, r#"<text class="tick" x="{right}" y="{below}">{last} s</text>"#);
    }
    svg.push_str("</svg>\n");
    Ok(svg)
}

/// The styles, the title and the legend.
const HEAD: &str = include_str!("demo-head.svg");
