//! One law's run with a new fleet and a new server, sampled ten times a second, and its report.

use crate::curves::Curves;
use crate::fleet::{Fleet, Plan};
use crate::options::Demo;
use crate::report::Report;
use crate::scene::{Scene, Watcher};
use crate::server::Server;
use anyhow::Result;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

/// Set to end the run.
pub type Stop = watch::Sender<bool>;

/// Runs `law` against `server` until its time is over or `stop` is set, and reports the results.
pub async fn run(
    demo: &Demo,
    law: &str,
    server: Server,
    stop: &Stop,
    watcher: &mut dyn Watcher,
    finished: &[Report],
) -> Result<Report> {
    let folder = demo.share.then(tempfile::tempdir).transpose()?;
    // The processes create this folder with access for this user only.
    let plan = Plan {
        address: server.address(),
        number: 0,
        law: law.to_owned(),
        workers: demo.workers,
        seed: demo.seed.map_or_else(getrandom::u64, Ok)?,
        grace: 2 * (demo.api.service() + demo.api.latency) + Duration::from_secs(2),
        share: folder.as_ref().map(|folder| folder.path().join("shared")),
    };
    let mut fleet = Fleet::start(plan, demo.processes).await?;
    server.begin();
    fleet.go().await?;

    let mut curves = Curves::default();
    let mut ticks = interval(Duration::from_millis(100));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut stopped = stop.subscribe();
    let end = tokio::time::sleep(demo.seconds.saturating_sub(server.elapsed()));
    tokio::pin!(end);
    server.close_books(demo.seconds);
    let elapsed = loop {
        let over = tokio::select! {
            () = &mut end => Some(demo.seconds),
            // The sender outlives this loop, so only `stop` ends it.
            _ = stopped.wait_for(|stop| *stop) => {
                let now = server.elapsed().min(demo.seconds);
                server.close_books(now);
                Some(now)
            }
            _ = ticks.tick() => None,
        };
        let (elapsed, truth, members) = (server.elapsed(), server.truth(), fleet.members());
        curves.note(elapsed, &truth);
        let scene = Scene {
            demo,
            law,
            address: server.address(),
            elapsed,
            truth: &truth,
            curves: &curves,
            members: &members,
            finished,
        };
        watcher.show(&scene);
        if let Some(elapsed) = over {
            watcher.leave(&scene);
            break elapsed;
        }
    };

    let (half, end) = (elapsed.as_secs_f64() / 2.0, elapsed.as_secs_f64());
    let settled = curves.total(half, end).throttled_share();
    let members = fleet.stop().await;
    let report = Report::new(demo, law, elapsed, settled, &server, &members);
    server.stop().await;
    Ok(report)
}
