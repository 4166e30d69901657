//! The fleet's side of the view: one row per process, with its calls over time.

use super::{GLANCE, boxed, right, shade};
use crate::curves::Rates;
use crate::report::{millis, percent};
use crate::scene::Scene;
use ratatui::Frame;
use ratatui::layout::{Constraint, Rect};
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Row, Table};

const BASIS: u16 = 10;

pub fn draw(frame: &mut Frame<'_>, area: Rect, scene: &Scene<'_>) {
    // Only a law that learns from hints has a basis.
    let learns = scene.members.iter().any(|member| member.tally.basis.is_some());
    let basis = if learns { BASIS } else { 0 };
    let columns = [7, 7, 7, 9, 7, basis];
    let taken: u16 = columns.iter().map(|column| column + u16::from(*column > 0)).sum();
    let width = usize::from(area.width.saturating_sub(taken + 4));
    let (from, to) = scene.lately();
    let cells = Strip::new(scene, width);
    let rows = scene.members.iter().enumerate().map(|(process, member)| {
        let rates = scene.curves.rates(process, from, to);
        let share = rates.throttled_share();
        let mut row = vec![
            Cell::from(format!("{}", process + 1)),
            right(format!("{:.0}/s", rates.offered), Style::new()),
            right(format!("{:.0}/s", rates.served), Style::new()),
            right(percent(share), shade(share)),
            right(millis(member.tally.wait_us as f64 / 1000.0), Style::new()),
        ];
        row.extend(learns.then(|| Cell::from(member.tally.basis.clone().unwrap_or_default())));
        row.push(Cell::from(cells.line(scene, process)));
        Row::new(row)
    });
    let dim = Style::new().fg(Color::DarkGray);
    let mut head = vec![Cell::from("process")];
    head.extend(["offered", "served", "throttled", "wait"].map(|name| right(name.into(), dim)));
    head.extend(learns.then(|| Cell::from("decided by")));
    head.push(Cell::from(match width {
        30.. => "calls over time, red if throttled",
        _ => "calls, red if throttled",
    }));
    let widths = columns.into_iter().filter(|column| *column > 0).map(Constraint::Length);
    let widths = widths.chain([Constraint::Min(8)]);
    frame.render_widget(
        Table::new(rows, widths.collect::<Vec<_>>())
            .header(Row::new(head).style(dim))
            .block(boxed(" the fleet ".into())),
        area,
    );
}

/// Draws the rates of processes over time in a few cells, all with one scale.
struct Strip {
    width: usize,
    top: f64,
}

impl Strip {
    fn new(scene: &Scene<'_>, width: usize) -> Self {
        let mut strip = Strip { width, top: 1.0 };
        strip.top = (0..scene.members.len())
            .flat_map(|process| strip.rates(scene, process))
            .map(|rates| rates.offered)
            .fold(1.0, f64::max);
        strip
    }

    fn rates(&self, scene: &Scene<'_>, process: usize) -> Vec<Rates> {
        let cell = scene.demo.seconds.as_secs_f64() / self.width.max(1) as f64;
        (1..=self.width)
            .map(|index| index as f64 * cell)
            .take_while(|to| *to <= scene.curves.end())
            .map(|to| scene.curves.rates(process, to - cell.max(GLANCE), to))
            .collect()
    }

    fn line(&self, scene: &Scene<'_>, process: usize) -> Line<'static> {
        const BARS: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
        let bar = |rates: Rates| {
            let level = (8.0 * rates.offered / self.top).ceil().clamp(0.0, 8.0);
            Span::styled(BARS[level as usize], shade(rates.throttled_share()))
        };
        self.rates(scene, process).into_iter().map(bar).collect()
    }
}
