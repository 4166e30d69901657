//! The chart tests/golden/worlds.svg: median to 90th percentile for each law and set of hints.

use std::ops::Range;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::page::OWN;
use super::{Family, Figure, Figures, Hints, Row};
use crate::controllers;

/// The width of the names and of the chart, and the height of the head and of a row.
const NAMES: u32 = 250;
const WIDTH: u32 = 1_080;
const HEAD: u32 = 64;
const ROW: f64 = 14.0;

const BLUE: RGBColor = RGBColor(43, 108, 196);
const GREY: RGBColor = RGBColor(110, 110, 110);

/// A figure on a logarithmic axis.
struct Panel {
    head: &'static str,
    family: Family,
    of: fn(&Row) -> Option<Figure>,
    axis: Range<f64>,
    tick: fn(&f64) -> String,
}

const PANELS: [Panel; 3] = [
    Panel {
        head: "rejected, saturated worlds",
        family: Family::Saturated,
        of: |row| row.score.rejected,
        axis: 1e-4..1.0,
        tick: share,
    },
    Panel {
        head: "unused, saturated worlds",
        family: Family::Saturated,
        of: |row| row.score.unused,
        axis: 1e-4..1.0,
        tick: share,
    },
    Panel {
        head: "latency over an oracle's, app worlds",
        family: Family::App,
        of: |row| row.wait,
        axis: 1.0..1e4,
        tick: f64::to_string,
    },
];

fn share(of: &f64) -> String {
    format!("{} %", (of * 1e6).round() / 1e4)
}

impl Panel {
    fn figure(&self, figures: &Figures, law: &str, hints: Hints) -> Option<Figure> {
        let mut rows = figures.told().filter(|row| row.family == self.family.name());
        (self.of)(rows.find(|row| row.law == law && row.hints == hints.name())?)
    }
}

/// A law with a set of hints, and its position in rows.
type Place<'a> = (&'a str, Hints, f64);

/// All laws with the hints that they have figures for, and the number of rows.
fn places(figures: &Figures) -> (Vec<Place<'_>>, f64) {
    let mut laws: Vec<&str> = figures.rows.iter().map(|row| row.law.as_str()).collect();
    let mut places: Vec<Place> = Vec::new();
    let mut end = 0.0;
    while let Some(&law) = laws.first() {
        laws.retain(|other| *other != law);
        for hints in Hints::ALL {
            if PANELS.iter().any(|panel| panel.figure(figures, law, hints).is_some()) {
                places.push((law, hints, end + 0.5));
                end += 1.0;
            }
        }
        end += 0.7;
    }
    (places, end)
}

fn colour(law: &str) -> RGBColor {
    match law {
        OWN => RGBColor(10, 127, 90),
        "oracle" => GREY,
        law if controllers::is_law(law) => BLUE,
        _ => RGBColor(168, 97, 28),
    }
}

pub fn picture(figures: &Figures) -> anyhow::Result<String> {
    let mut svg = String::new();
    paint(figures, &mut svg)?;
    Ok(svg)
}

fn paint(figures: &Figures, svg: &mut String) -> anyhow::Result<()> {
    let (places, end) = places(figures);
    let size = (WIDTH, HEAD + 54 + (end * ROW) as u32);
    let root = SVGBackend::with_string(svg, size).into_drawing_area();
    root.fill(&WHITE)?;
    let style = |size: f64, colour: RGBColor| ("sans-serif", size).into_font().color(&colour);
    root.draw_text("What each law loses in random worlds", &style(20.0, BLACK), (18, 14))?;
    let lead = "For each set of hints: the median (large dot), up to the 90th percentile (bar), and \
                the worst world (small dot). Further left is better; 0.01 % is the left edge.";
    root.draw_text(lead, &style(13.0, GREY), (18, 42))?;
    let (_, below) = root.split_vertically(HEAD);
    let (_, panels) = below.split_horizontally(NAMES);
    for (number, area) in panels.split_evenly((1, PANELS.len())).into_iter().enumerate() {
        let panel = &PANELS[number];
        let mut chart = ChartBuilder::on(&area)
            .caption(panel.head, style(14.0, BLACK))
            .margin_right(40)
            .x_label_area_size(24)
            .build_cartesian_2d(panel.axis.clone().log_scale(), end..0.0)?;
        chart
            .configure_mesh()
            .disable_y_mesh()
            .disable_y_axis()
            .bold_line_style(GREY.mix(0.3))
            .light_line_style(TRANSPARENT)
            .axis_style(GREY)
            .x_label_formatter(&panel.tick)
            .draw()?;
        for &(law, hints, y) in &places {
            let Some(figure) = panel.figure(figures, law, hints) else { continue };
            let x = |value: f64| value.clamp(panel.axis.start, panel.axis.end);
            let (median, colour) = (x(figure.median), colour(law));
            let bar = [(median, y - 0.18), (x(figure.p90), y + 0.18)];
            chart.draw_series([Rectangle::new(bar, colour.mix(0.35).filled())])?;
            chart.draw_series([
                Circle::new((median, y), 4, colour.filled()),
                Circle::new((x(figure.worst), y), 2, colour.mix(0.6).filled()),
            ])?;
        }
        for (index, &(law, hints, y)) in places.iter().enumerate().filter(|_| number == 0) {
            let y = chart.backend_coord(&(panel.axis.start, y)).1;
            let right = style(11.0, GREY).pos(Pos::new(HPos::Right, VPos::Center));
            root.draw_text(hints.name(), &right, (NAMES as i32 - 12, y))?;
            if index == 0 || places[index - 1].0 != law {
                let left = style(13.0, colour(law)).pos(Pos::new(HPos::Left, VPos::Center));
                root.draw_text(law, &left, (18, y))?;
            }
        }
    }
    root.present()?;
    Ok(())
}
