//! Sends the current state of the demo to the page several times a second. Only the latest is kept.

use crate::fleet::Member;
use crate::options::Api;
use crate::scene::{Scene, Watcher};
use crate::server::{Row, Truth};
use axum::response::sse::Event;
use serde::Serialize;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_stream::wrappers::WatchStream;
use tokio_stream::{Stream, StreamExt};

/// The interval between updates.
const EVERY: Duration = Duration::from_millis(200);

/// The state of the demo, as the page reads it.
#[derive(Serialize)]
pub struct Moment<'a> {
    api: Option<ApiAt>,
    run: Option<Run<'a>>,
    /// Seconds since this API started.
    now: f64,
    /// Calls per second that the API allows now.
    allowed: f64,
    /// Calls that the API could have served so far.
    capacity: f64,
    /// The server's counts of all callers.
    total: Row,
    /// The server's counts of callers outside the fleet, such as this page.
    others: Row,
    processes: Vec<Process>,
}

#[derive(Serialize)]
struct ApiAt {
    url: String,
    about: String,
}

#[derive(Serialize)]
struct Run<'a> {
    law: &'a str,
    seconds: f64,
    workers: usize,
}

/// One process of the fleet: the server's counts of it, and its own report.
#[derive(Serialize)]
struct Process {
    #[serde(flatten)]
    row: Row,
    /// The latest wait of its controller.
    wait_ms: f64,
}

impl<'a> Moment<'a> {
    /// The state of a run of the fleet.
    pub fn of_fleet(scene: &'a Scene<'_>) -> Self {
        let Scene { demo, law, elapsed, truth, members, .. } = *scene;
        let run = Run { law, seconds: demo.seconds.as_secs_f64(), workers: demo.workers };
        let mut moment = Moment::of_api(&demo.api, scene.address, elapsed, truth);
        moment.run = Some(run);
        let rows = truth.callers.iter().skip(1);
        moment.processes =
            rows.zip(members).map(|(row, member)| Process::new(*row, member)).collect();
        moment
    }

    /// The state of an API without a fleet.
    pub fn of_api(api: &Api, address: SocketAddr, elapsed: Duration, truth: &Truth) -> Self {
        Moment {
            api: Some(ApiAt { url: format!("http://{address}/"), about: api.to_string() }),
            run: None,
            now: elapsed.as_secs_f64(),
            allowed: api.rate_at(elapsed),
            capacity: truth.capacity,
            total: truth.total(),
            others: truth.callers.first().copied().unwrap_or_default(),
            processes: Vec::new(),
        }
    }

    /// The same state, marked as the last of this API.
    fn leaving(self) -> Self {
        Moment { api: None, ..self }
    }
}

impl Process {
    fn new(row: Row, member: &Member) -> Self {
        let Member { tally, .. } = member;
        Process { row, wait_ms: tally.wait_us as f64 / 1000.0 }
    }
}

/// Distributes the latest state to readers. It is empty at the end.
#[derive(Clone)]
pub struct Feed {
    latest: Arc<watch::Sender<Option<Arc<str>>>>,
    told: Option<Instant>,
}

impl Default for Feed {
    fn default() -> Self {
        Feed { latest: Arc::new(watch::Sender::new(Some("{}".into()))), told: None }
    }
}

impl Feed {
    pub fn tell(&self, moment: &Moment<'_>) {
        if let Ok(text) = serde_json::to_string(moment) {
            self.latest.send_replace(Some(text.into()));
        }
    }

    pub fn latest(&self) -> String {
        self.latest.borrow().as_deref().unwrap_or("{}").to_owned()
    }

    /// The states from the latest on. A slow reader misses some.
    pub fn stream(&self) -> impl Stream<Item = Result<Event, Infallible>> + use<> {
        let moments = WatchStream::new(self.latest.subscribe());
        let mut over = false;
        let events = moments.map_while(move |moment| {
            if over {
                return None;
            }
            over = moment.is_none();
            Some(match moment {
                Some(text) => Event::default().data(text),
                None => Event::default().event("end").data("over"),
            })
        });
        events.map(Ok)
    }

    /// Announces the end, and waits up to `patience` for readers to receive it.
    pub async fn end(&self, patience: Duration) {
        self.latest.send_replace(None);
        let _ = timeout(patience, self.latest.closed()).await;
    }
}

impl Watcher for Feed {
    fn show(&mut self, scene: &Scene<'_>) {
        if self.told.is_none_or(|told| told.elapsed() >= EVERY) {
            self.told = Some(Instant::now());
            self.tell(&Moment::of_fleet(scene));
        }
    }

    fn leave(&mut self, scene: &Scene<'_>) {
        self.tell(&Moment::of_fleet(scene).leaving());
    }
}
