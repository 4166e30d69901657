//! Plots of a run.

use std::path::Path;

use anyhow::{Context, anyhow};
use plotters::coord::Shift;
use plotters::coord::ranged1d::{AsRangedCoord, Ranged, ValueFormatter};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use tidegate::{Instant, Outcome};

use crate::scenario::Scenario;
use crate::trace::What;
use crate::world::World;

const SIZE: (u32, u32) = (1_200, 1_000);
/// More dots than this could not be distinguished and would make a large file.
const MOST_DOTS: usize = 6_000;
/// Rates are averaged over this many parts of the run.
const PARTS: usize = 120;
/// More processes than this are drawn as one.
const MOST_LINES: usize = 12;

/// The delay axis is logarithmic. Shorter delays are drawn as none.
const NO_WAIT: f64 = 0.001;

pub(crate) const BLUE: RGBColor = RGBColor(43, 108, 196);
const RED: RGBColor = RGBColor(214, 57, 57);
pub(crate) const GREY: RGBColor = RGBColor(110, 110, 110);

/// The data of a plot. Times are in seconds.
struct Picture {
    dots: Vec<Dot>,
    end: f64,
    /// Calls served and not served, per line and part.
    lines: Vec<[[f64; PARTS]; 2]>,
}

/// A call: when it was sent, how long it had waited, and whether it was served.
struct Dot {
    sent: f64,
    waited: f64,
    served: bool,
}

fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

impl Picture {
    /// Runs a scenario with a law and a seed.
    fn of(scenario: &Scenario, law: &str, seed: u64) -> anyhow::Result<Self> {
        let mut world = World::new(scenario, law, seed)
            .with_context(|| format!("there is no law \"{law}\""))?;
        let (mut dots, mut decided) = (Vec::new(), Vec::new());
        world.advance(Instant::MAX, &mut |step| match step.what {
            What::Back { outcome, sent, waited } => dots.push(Dot {
                sent: seconds(sent.as_nanos()),
                waited: seconds(waited.as_nanos()),
                served: outcome == Outcome::Ok,
            }),
            What::Decided(outcome) => decided.push((step.at, step.process, outcome)),
            _ => {}
        })?;
        let one_in = dots.len().div_ceil(MOST_DOTS).max(1);
        let dots = dots.into_iter().step_by(one_in).collect();
        let end = seconds(world.now().as_nanos());
        let processes: usize = scenario.groups().map(|group| group.processes as usize).sum();
        let lines = if processes > MOST_LINES { 1 } else { processes };
        let mut picture = Self { dots, end, lines: vec![[[0.0; PARTS]; 2]; lines] };
        for (at, process, outcome) in decided {
            let part = (seconds(at.as_nanos()) / end * PARTS as f64) as usize;
            let line = (process as usize).min(lines - 1);
            let bad = usize::from(outcome != Outcome::Ok);
            picture.lines[line][bad][part.min(PARTS - 1)] += 1.0;
        }
        Ok(picture)
    }
}

/// Runs a scenario with a law and a seed, and plots it to a file: the delay of every request,
/// coloured by its outcome; the rate of every process; the throttled share.
pub fn draw(scenario: &Scenario, law: &str, seed: u64, file: &Path) -> anyhow::Result<()> {
    let root = SVGBackend::new(file, SIZE).into_drawing_area();
    let all = format!("{} · {law} · seed {seed}", scenario.name);
    Picture::of(scenario, law, seed)?
        .paint(&root, &all, &scenario.title)
        .and_then(|()| root.present().map_err(|error| anyhow!("{error}")))
        .with_context(|| format!("cannot draw {}", file.display()))
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

impl Picture {
    fn paint(&self, root: &Area, name: &str, title: &str) -> anyhow::Result<()> {
        root.fill(&WHITE)?;
        let centred = Pos::new(HPos::Center, VPos::Top);
        let head = ("sans-serif", 24).into_font().color(&BLACK).pos(centred);
        root.draw_text(name, &head, (SIZE.0 as i32 / 2, 14))?;
        let small = ("sans-serif", 16).into_font().color(&GREY).pos(centred);
        root.draw_text(title, &small, (SIZE.0 as i32 / 2, 46))?;
        let (_, below) = root.split_vertically(74);
        let (delays, below) = below.split_vertically(430);
        let (rates, shares) = below.split_vertically(260);
        let clock = Clock::of(self.end);
        self.delays(&delays, clock)?;
        self.rates(&rates, clock)?;
        self.shares(&shares, clock)
    }

    fn delays(&self, area: &Area, clock: Clock) -> anyhow::Result<()> {
        let longest = self.dots.iter().map(|dot| dot.waited).fold(10.0 * NO_WAIT, f64::max);
        let axis = (NO_WAIT..longest * 1.3).log_scale();
        let mut chart = panel(area, clock, self.end, axis, "delay", &|waited| span_name(*waited))?;
        let mut names = Vec::new();
        for (served, colour, name) in [(true, BLUE, "served"), (false, RED, "throttled or failed")]
        {
            let dots = self.dots.iter().filter(|dot| dot.served == served);
            let dots = dots.map(|dot| {
                Circle::new(
                    (clock.shown(dot.sent), dot.waited.max(NO_WAIT)),
                    2,
                    colour.mix(0.55).filled(),
                )
            });
            chart.draw_series(dots)?;
            names.push((name, colour.to_rgba()));
        }
        legend(area, names.into_iter())
    }

    fn rates(&self, area: &Area, clock: Clock) -> anyhow::Result<()> {
        let part = self.end / PARTS as f64;
        let most = self.lines.iter().flat_map(|line| line[0]).fold(0.0, f64::max) / part;
        let (unit, scale) = match most {
            0.2.. => ("s", 1.0),
            0.003.. => ("min", 60.0),
            _ => ("h", 3_600.0),
        };
        let high = (most * scale * 1.08).max(1e-9);
        let rate = |[served, _]: [f64; 2]| served / part * scale;
        self.curves(area, clock, high, &format!("served/{unit}"), rate)?;
        let names: Vec<String> = (0..self.lines.len()).map(|number| self.name(number)).collect();
        let colours = (0..names.len()).map(|number| self.colour(number));
        legend(area, names.iter().map(String::as_str).zip(colours))
    }

    fn shares(&self, area: &Area, clock: Clock) -> anyhow::Result<()> {
        let share =
            |[served, bad]: [f64; 2]| if bad > 0.0 { 100.0 * bad / (served + bad) } else { 0.0 };
        let parts = self.lines.iter().flat_map(|line| line[0].into_iter().zip(line[1]));
        let most = parts.map(|(served, bad)| share([served, bad])).fold(0.0, f64::max);
        self.curves(area, clock, (most * 1.08).clamp(1.0, 100.0), "throttled, %", share)
    }

    /// A curve per line of `value` of the calls served and not served in each part of the run.
    fn curves(
        &self,
        area: &Area,
        clock: Clock,
        high: f64,
        label: &str,
        value: impl Fn([f64; 2]) -> f64,
    ) -> anyhow::Result<()> {
        let mut chart = panel(area, clock, self.end, 0.0..high, label, &short)?;
        for (number, [served, bad]) in self.lines.iter().enumerate() {
            let middle = |part: usize| (part as f64 + 0.5) * self.end / PARTS as f64;
            let points = (0..PARTS)
                .map(|part| (clock.shown(middle(part)), value([served[part], bad[part]])));
            chart.draw_series(LineSeries::new(points, self.colour(number).stroke_width(2)))?;
        }
        Ok(())
    }

    fn colour(&self, number: usize) -> RGBAColor {
        if self.lines.len() == 1 {
            return BLUE.to_rgba();
        }
        let hue = (0.58 + number as f64 / self.lines.len() as f64) % 1.0;
        HSLColor(hue, 0.62, 0.45).to_rgba()
    }

    fn name(&self, number: usize) -> String {
        if self.lines.len() == 1 { "all".into() } else { format!("process {number}") }
    }
}

/// The unit of the time axis.
#[derive(Clone, Copy)]
struct Clock {
    unit: &'static str,
    seconds: f64,
}

impl Clock {
    fn of(ended: f64) -> Self {
        let (unit, seconds) = match ended {
            172_800.0.. => ("d", 86_400.0),
            7_200.0.. => ("h", 3_600.0),
            600.0.. => ("min", 60.0),
            _ => ("s", 1.0),
        };
        Self { unit, seconds }
    }

    fn shown(self, at: f64) -> f64 {
        at / self.seconds
    }
}

type Chart<'a, 'b, Y> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, Y>>;

fn panel<'a, 'b, Y>(
    area: &'a Area<'b>,
    clock: Clock,
    ended: f64,
    axis: impl AsRangedCoord<CoordDescType = Y, Value = f64>,
    label: &str,
    tick: &dyn Fn(&f64) -> String,
) -> anyhow::Result<Chart<'a, 'b, Y>>
where
    Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    let mut chart = ChartBuilder::on(area)
        .margin(10)
        .margin_right(30)
        .margin_top(28)
        .x_label_area_size(44)
        .y_label_area_size(80)
        .build_cartesian_2d(0.0..clock.shown(ended), axis)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .bold_line_style(GREY.mix(0.25))
        .light_line_style(TRANSPARENT)
        .axis_style(GREY)
        .x_desc(format!("time, {}", clock.unit))
        .x_label_formatter(&short)
        .y_desc(label)
        .y_label_formatter(&tick)
        .label_style(("sans-serif", 15))
        .axis_desc_style(("sans-serif", 16))
        .draw()?;
    Ok(chart)
}

/// The shortest form of a number.
fn short(number: &f64) -> String {
    let rounded = (number * 1e4).round() / 1e4;
    format!("{rounded}")
}

/// A delay with a suitable unit.
fn span_name(seconds: f64) -> String {
    match seconds {
        3_600.0.. => format!("{} h", short(&(seconds / 3_600.0))),
        1.0.. => format!("{} s", short(&seconds)),
        _ if seconds <= NO_WAIT => "none".into(),
        _ => format!("{} ms", short(&(seconds * 1e3))),
    }
}

/// A row of names at the upper right, each after a dot of its colour.
fn legend<'n>(
    area: &Area,
    items: impl DoubleEndedIterator<Item = (&'n str, RGBAColor)>,
) -> anyhow::Result<()> {
    let mut right = SIZE.0 as i32 - 30;
    let style = ("sans-serif", 15).into_font().color(&BLACK);
    let style = style.pos(Pos::new(HPos::Left, VPos::Center));
    for (name, colour) in items.rev() {
        right -= 8 * name.len() as i32 + 22;
        area.draw(&Circle::new((right, 14), 5, colour.filled()))?;
        area.draw_text(name, &style, (right + 10, 14))?;
    }
    Ok(())
}
