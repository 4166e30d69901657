//! The live terminal view of a run.

mod fleet;

use crate::curves::Rates;
use crate::report::{millis, percent};
use crate::run::Stop;
use crate::scene::{Scene, Watcher};
use anyhow::{Context, Result};
use ratatui::DefaultTerminal;
use ratatui::Frame;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::{Color, Style, Stylize};
use ratatui::symbols::Marker;
use ratatui::text::{Line, Span};
use ratatui::widgets::{
    Axis, Block, BorderType, Cell, Chart, Dataset, GraphType, Padding, Paragraph, Row, Table,
};
use std::time::Duration;

const SERVED: Color = Color::Green;
const OFFERED: Color = Color::Red;
const CAPACITY: Color = Color::Blue;
/// Curves average rates over this many seconds: short enough to follow, long enough to be smooth.
const GLANCE: f64 = 0.7;
/// More laws than this scroll.
const MOST_LAWS: usize = 5;

/// The terminal during a run. Dropping it restores the terminal.
pub struct Screen {
    terminal: DefaultTerminal,
    page: Option<String>,
}

impl Screen {
    /// Opens the view. Its keys can set `stop`.
    pub fn open(stop: Stop, page: Option<String>) -> Result<Self> {
        let terminal = ratatui::try_init().context("cannot draw on this terminal")?;
        // A separate thread, because reading keys from a closed terminal never returns.
        std::thread::spawn(move || {
            while let Ok(event) = event::read() {
                if wants_to_end(&event) {
                    stop.send_replace(true);
                }
            }
        });
        Ok(Screen { terminal, page })
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = ratatui::try_restore();
    }
}

impl Watcher for Screen {
    fn show(&mut self, scene: &Scene<'_>) {
        // A closed terminal ends the run with a signal, so errors are ignored here.
        let page = self.page.as_deref();
        let _ = self.terminal.draw(|frame| draw(frame, scene, page));
    }
}

/// In raw mode Ctrl-C is an ordinary key.
fn wants_to_end(event: &Event) -> bool {
    let Event::Key(key) = event else { return false };
    match key.code {
        KeyCode::Char('q') | KeyCode::Esc => true,
        KeyCode::Char('c') => key.modifiers.contains(KeyModifiers::CONTROL),
        _ => false,
    }
}

fn draw(frame: &mut Frame<'_>, scene: &Scene<'_>, page: Option<&str>) {
    let laws = match scene.demo.laws.len() {
        1 => 0,
        laws => clipped(laws.min(MOST_LAWS) + 3),
    };
    let [title, api, callers, results, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Min(7),
        Constraint::Max(clipped(scene.members.len() + 3)),
        Constraint::Length(laws),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    draw_title(frame, title, scene);
    draw_api(frame, api, scene);
    fleet::draw(frame, callers, scene);
    if laws > 0 {
        draw_laws(frame, results, scene);
    }
    let mut keys = vec![Span::from(" q ends the run and prints the report").fg(Color::DarkGray)];
    if let Some(page) = page {
        keys.push("   the page: ".dark_gray());
        keys.push(page.cyan());
    }
    frame.render_widget(Line::from(keys), foot);
}

fn draw_title(frame: &mut Frame<'_>, area: Rect, scene: &Scene<'_>) {
    let left =
        Line::from(vec![" tidegate ".bold().reversed(), "  law ".into(), scene.law.bold().cyan()]);
    let right = format!(
        "{} processes of {} workers   {:.1} of {} s ",
        scene.demo.processes,
        scene.demo.workers,
        scene.elapsed.min(scene.demo.seconds).as_secs_f64(),
        scene.demo.seconds.as_secs_f64(),
    );
    let [law, fleet] =
        Layout::horizontal([Constraint::Length(clipped(left.width())), Constraint::Fill(1)])
            .spacing(2)
            .areas(area);
    frame.render_widget(left, law);
    frame.render_widget(Line::from(right).alignment(Alignment::Right), fleet);
}

/// The server's side: calls offered and served over time, below the line of the limit.
fn draw_api(frame: &mut Frame<'_>, area: Rect, scene: &Scene<'_>) {
    let block = boxed(format!(" the API: {} ", scene.demo.api));
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let [left, right] =
        Layout::horizontal([Constraint::Fill(1), Constraint::Length(22)]).areas(inner);
    draw_curves(frame, left, scene);

    let (from, to) = scene.lately();
    let rates = scene.curves.total(from, to);
    let total = scene.truth.total();
    let used = total.served as f64 / scene.truth.capacity.max(1.0);
    let allowed = scene.demo.api.rate_at(scene.elapsed);
    let over = if rates.offered > top(scene) { "↑ " } else { "" };
    let row = |name: &'static str, color, value: String| {
        Line::from(vec![
            Span::from(format!("  ━ {name:<9}")).fg(color),
            format!("{value:>8}").into(),
        ])
    };
    let plain = |name: &'static str, value: String, style: Style| {
        Line::from(vec![
            Span::from(format!("    {name:<9}")),
            Span::styled(format!("{value:>8}"), style),
        ])
    };
    frame.render_widget(
        Paragraph::new(vec![
            row("capacity", CAPACITY, format!("{allowed:.0}/s")),
            row("served", SERVED, format!("{:.0}/s", rates.served)),
            row("offered", OFFERED, format!("{over}{:.0}/s", rates.offered)),
            Line::default(),
            plain("throttled", percent(rates.throttled_share()), shade(rates.throttled_share())),
            plain("used", percent(used), Style::new().bold()),
        ]),
        right,
    );
}

fn draw_curves(frame: &mut Frame<'_>, area: Rect, scene: &Scene<'_>) {
    let length = scene.demo.seconds.as_secs_f64();
    let top = top(scene);
    let steps = (2 * usize::from(area.width)).max(2);
    let time = |step: usize| length * step as f64 / (steps - 1) as f64;
    let allowed: Vec<(f64, f64)> = (0..steps)
        .map(|step| (time(step), scene.demo.api.rate_at(Duration::from_secs_f64(time(step)))))
        .collect();
    let past = |pick: fn(Rates) -> f64| -> Vec<(f64, f64)> {
        (0..steps)
            .map(time)
            .take_while(|time| *time <= scene.curves.end())
            .map(|time| (time, pick(scene.curves.total(time - GLANCE, time)).min(top)))
            .collect()
    };
    let (offered, served) = (past(|rates| rates.offered), past(|rates| rates.served));
    let line = |points, color| {
        Dataset::default()
            .data(points)
            .graph_type(GraphType::Line)
            .marker(Marker::Braille)
            .style(Style::new().fg(color))
    };
    let chart =
        Chart::new(vec![line(&allowed, CAPACITY), line(&offered, OFFERED), line(&served, SERVED)])
            .x_axis(Axis::default().bounds([0.0, length]))
            .y_axis(
                Axis::default()
                    .bounds([0.0, top])
                    .style(Style::new().fg(Color::DarkGray))
                    .labels(["0".into(), format!("{:.0}", top / 2.0), format!("{top:.0}")])
                    .labels_alignment(Alignment::Right),
            )
            .legend_position(None);
    frame.render_widget(chart, area);
}

/// The upper end of the vertical axis: twice the limit, which leaves room for throttled calls. Higher values are drawn at
/// the top, and marked in the legend.
fn top(scene: &Scene<'_>) -> f64 {
    2.0 * scene.demo.api.rate().max(1.0)
}

/// The figures of the laws that ran, and the next ones.
fn draw_laws(frame: &mut Frame<'_>, area: Rect, scene: &Scene<'_>) {
    let laws = &scene.demo.laws;
    let running = scene.finished.len();
    let first = (running + 1).saturating_sub(MOST_LAWS);
    let rows = laws.iter().enumerate().skip(first).map(|(index, law)| {
        let Some(run) = scene.finished.get(index) else {
            let state = if index == running { "running".cyan() } else { "next".dark_gray() };
            return Row::new(vec![Cell::from(law.clone()), right_line(state.into())]);
        };
        Row::new(vec![
            Cell::from(law.clone()),
            right(percent(run.utilisation), Style::new()),
            right(percent(run.settled), shade(run.settled)),
            right(percent(run.throttled), shade(run.throttled)),
            right(format!("{:.3}", run.jain), Style::new()),
            right(run.wait_p50_ms.map_or("none".into(), millis), Style::new()),
            right(run.wait_p99_ms.map_or("none".into(), millis), Style::new()),
            right(run.lost.to_string(), Style::new()),
        ])
    });
    let dim = Style::new().fg(Color::DarkGray);
    let names = ["utilisation", "settled", "throttled", "jain", "wait p50", "wait p99", "lost"];
    let head = std::iter::once(Cell::from("law"))
        .chain(names.map(|name| right(name.into(), dim)))
        .collect::<Row<'_>>();
    let widths = [12, 11, 7, 9, 5, 8, 8, 4].map(Constraint::Length);
    frame.render_widget(
        Table::new(rows, widths).header(head.style(dim)).block(boxed(" the laws ".into())),
        area,
    );
}

/// Green where almost nothing is throttled, red where most is.
fn shade(throttled: f64) -> Style {
    Style::new().fg(match throttled {
        share if share < 0.1 => Color::Green,
        share if share < 0.3 => Color::Yellow,
        _ => Color::Red,
    })
}

fn boxed(title: String) -> Block<'static> {
    Block::bordered()
        .border_type(BorderType::Rounded)
        .border_style(Style::new().fg(Color::DarkGray))
        .title(title.not_dim())
        .padding(Padding::horizontal(1))
}

fn right(text: String, style: Style) -> Cell<'static> {
    right_line(Line::styled(text, style))
}

fn right_line(line: Line<'static>) -> Cell<'static> {
    Cell::from(line.alignment(Alignment::Right))
}

fn clipped(rows: usize) -> u16 {
    u16::try_from(rows).unwrap_or(u16::MAX)
}
