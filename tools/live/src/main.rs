//! A throttled fleet against a real rate-limited API.
//!
//! `demo` starts an HTTP API on loopback and a fleet of client processes that know neither its
//! limit nor each other. `serve` starts the API alone.

mod client;
mod curves;
mod fleet;
mod loopback;
mod options;
mod page;
mod report;
mod run;
mod scene;
mod server;
mod tally;
mod view;

use anyhow::{Context, Result};
use options::{Api, Command, Demo, Like};
use page::{Page, of_api};
use report::{Document, Report, Table};
use run::Stop;
use scene::{Lines, Watcher};
use server::{Server, Taken};
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::process::ExitCode;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// The exit status that a shell reports after Ctrl-C.
const INTERRUPTED: u8 = 130;
const USAGE: u8 = 2;

fn main() -> ExitCode {
    let command = match options::parse() {
        Ok(options) => options.command,
        Err(sentence) => return complain(&sentence, USAGE),
    };
    let result = match command {
        Command::Demo(options) => demo(&options),
        Command::Serve(api) => serve(&api),
        Command::Like(options) => like(&options),
        // A client without a parent to report to exits silently.
        Command::Client => client::run().map(|()| 0).or(Ok(1)),
    };
    match result {
        Ok(status) => ExitCode::from(status),
        Err(error) if error.is::<Taken>() => complain(&error.to_string(), USAGE),
        Err(error) => complain(&format!("{error:#}"), 1),
    }
}

fn complain(sentence: &str, status: u8) -> ExitCode {
    let _ = writeln!(io::stderr(), "tidegate-live: {sentence}");
    ExitCode::from(status)
}

/// Runs the laws one after the other and prints the report, also after an interruption.
#[tokio::main(worker_threads = 2)]
async fn demo(options: &Demo) -> Result<u8> {
    let stop = stop_on_signals()?;
    let page = Page::open(&options.page).await?;
    if options.page.alone {
        return stay(options, page, &stop).await.map(|()| 0);
    }
    let mut reports = Vec::new();
    let result = watch_all(options, page.as_ref(), &stop, &mut reports).await;
    if reports.is_empty() && result.is_err() {
        return result.map(|()| 0);
    }
    let interrupted = *stop.borrow();
    match print(options, &reports, interrupted) {
        // The reader closed the pipe, as `| head` does. That is not an error.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
        printed => printed.context("cannot print the report")?,
    }
    result?;
    if interrupted {
        return Ok(INTERRUPTED);
    }
    if options.page.keep {
        stay(options, page, &stop).await?;
    } else if let Some(page) = page {
        page.close().await;
    }
    Ok(0)
}

async fn stay(options: &Demo, page: Option<Page>, stop: &Stop) -> Result<()> {
    let server = Server::open(&options.api, 0).await?;
    server.begin();
    let mut out = io::stdout();
    writeln!(out, "the API    http://{}/  {}", server.address(), options.api)?;
    if let Some(page) = &page {
        writeln!(out, "the page   {}", page.url())?;
    }
    writeln!(out, "           Ctrl-C ends both.")?;
    let mut ticks = tokio::time::interval(Duration::from_millis(200));
    let mut stopped = stop.subscribe();
    loop {
        tokio::select! {
            // The sender outlives this loop, so only a signal ends it.
            _ = stopped.wait_for(|stop| *stop) => break,
            _ = ticks.tick() => {}
        }
        if let Some(page) = &page {
            let (elapsed, truth) = (server.elapsed(), server.truth());
            page.feed().tell(&of_api(&options.api, server.address(), elapsed, &truth));
        }
    }
    if let Some(page) = page {
        page.close().await;
    }
    server.stop().await;
    Ok(())
}

fn print(options: &Demo, reports: &[Report], interrupted: bool) -> io::Result<()> {
    let mut out = io::stdout().lock();
    if options.json {
        let document = Document { runs: reports, interrupted };
        writeln!(out, "{}", serde_json::to_string_pretty(&document)?)?;
    } else {
        writeln!(out, "\n{}", headline(options, interrupted))?;
        write!(out, "{}", Table(reports))?;
    }
    Ok(())
}

async fn watch_all(
    options: &Demo,
    page: Option<&Page>,
    stop: &Stop,
    reports: &mut Vec<Report>,
) -> Result<()> {
    // The view restores the terminal when dropped, before anything else is printed.
    let mut watcher = None;
    for law in &options.laws {
        if *stop.borrow() {
            break;
        }
        let server = Server::open(&options.api, options.processes).await?;
        // The view opens after the port, so a taken port prints one sentence and draws nothing.
        let watcher = match &mut watcher {
            Some(watcher) => watcher,
            none => none.insert(open_watchers(options, page, stop)?),
        };
        match run::run(options, law, server, stop, watcher, reports).await {
            Ok(report) => reports.push(report),
            // A signal can reach a client before it has moved to a separate process group.
            Err(_) if *stop.borrow() => break,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn open_watchers(
    options: &Demo,
    page: Option<&Page>,
    stop: &Stop,
) -> Result<Vec<Box<dyn Watcher>>> {
    let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    let url = page.map(Page::url);
    let mut watchers: Vec<Box<dyn Watcher>> = vec![if options.json {
        Box::new(Lines::new(io::stderr()))
    } else if io::stdout().is_terminal() && !dumb {
        Box::new(view::Screen::open(stop.clone(), url)?)
    } else {
        if let Some(url) = url {
            // A closed output does not end the run.
            let _ = writeln!(io::stdout(), "the page   {url}");
        }
        Box::new(Lines::new(io::stdout()))
    }];
    if let Some(page) = page {
        watchers.push(Box::new(page.feed()));
    }
    Ok(watchers)
}

fn headline(options: &Demo, interrupted: bool) -> String {
    let Demo { processes, workers, api, seconds, share, .. } = options;
    let seconds = seconds.as_secs_f64();
    let budget = if *share { ", which share one budget" } else { "" };
    let early = if interrupted { " (stopped early)" } else { "" };
    format!(
        "the fleet  {processes} processes of {workers} workers{budget}, {seconds} s per law{early}\n\
         the API    {api}\n"
    )
}

/// Serves until a signal, then prints the counts.
#[tokio::main(worker_threads = 2)]
async fn serve(api: &Api) -> Result<u8> {
    let stop = stop_on_signals()?;
    let server = Server::open(api, 0).await?;
    let mut out = io::stdout();
    writeln!(out, "http://{}/  {api}  (counts at /counts, Ctrl-C to end)", server.address())?;
    // The sender lives as long as this function, so only a signal ends the wait.
    let _ = stop.subscribe().wait_for(|stop| *stop).await;
    let (total, capacity) = (server.truth().total(), server.truth().capacity);
    server.stop().await;
    writeln!(
        out,
        "offered {}, served {} of {capacity:.0} possible, throttled {}, outage {}",
        total.offered, total.served, total.throttled, total.outage
    )?;
    Ok(0)
}

#[tokio::main(worker_threads = 1)]
async fn like(options: &Like) -> Result<u8> {
    let stop = stop_on_signals()?;
    let mut stopped = stop.subscribe();
    let ready = |address| {
        let name = &options.provider.name;
        let what = "/calls/ID; counts at /counts, Ctrl-C to end";
        writeln!(io::stdout(), "http://{address}  {name}  ({what})")
            .context("cannot print the address")
    };
    tokio::select! {
        served = server::like::serve(options, ready) => served?,
        _ = stopped.wait_for(|stop| *stop) => {}
    }
    Ok(0)
}

/// Becomes true on Ctrl-C, SIGTERM, and when the terminal closes.
fn stop_on_signals() -> Result<Stop> {
    let stop = watch::Sender::new(false);
    for kind in [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()] {
        let mut signals = signal(kind).context("cannot listen to signals")?;
        let stop = stop.clone();
        tokio::spawn(async move {
            signals.recv().await;
            stop.send_replace(true);
        });
    }
    Ok(stop)
}
