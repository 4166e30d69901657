//! Sends the current state of the demo to the page several times a second. Only the latest is kept.

use crate::fleet::Member;
use crate::options::Api;
use crate::scene::{Scene, Watcher};
use crate::server::{Row, Truth};
use axum::response::sse::Event;
use serde_json::{Value, json};
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

/// The state of an API without a fleet, as the page reads it.
pub fn of_api(api: &Api, address: SocketAddr, elapsed: Duration, truth: &Truth) -> Value {
    json!({
        "api": { "url": format!("http://{address}/"), "about": api.to_string() },
        "run": null,
        // Seconds since this API started.
        "now": elapsed.as_secs_f64(),
        // Calls per second that the API allows now, and calls that it could have served so far.
        "allowed": api.rate_at(elapsed),
        "capacity": truth.capacity,
        // The server's counts of all callers, and of those outside the fleet, such as this page.
        "total": truth.total(),
        "others": truth.callers.first(),
        "processes": [],
    })
}

/// The state of a run of the fleet.
fn of_fleet(scene: &Scene<'_>) -> Value {
    let Scene { demo, law, elapsed, truth, members, .. } = *scene;
    let seconds = demo.seconds.as_secs_f64();
    let mut moment = of_api(&demo.api, scene.address, elapsed, truth);
    moment["run"] = json!({ "law": law, "seconds": seconds, "workers": demo.workers });
    // The server's counts of each process, and the latest wait of its controller.
    let process = |(row, member): (&Row, &Member)| {
        let mut process = json!(row);
        process["wait_ms"] = json!(member.tally.wait_us as f64 / 1000.0);
        process
    };
    moment["processes"] = truth.callers.iter().skip(1).zip(members).map(process).collect();
    moment
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
    pub fn tell(&self, moment: &Value) {
        self.latest.send_replace(Some(moment.to_string().into()));
    }

    pub fn latest(&self) -> String {
        self.latest.borrow().as_deref().unwrap_or("{}").to_owned()
    }

    /// The states from the latest on. A slow reader misses some.
    pub fn stream(&self) -> impl Stream<Item = Result<Event, Infallible>> + use<> {
        let moments = WatchStream::new(self.latest.subscribe());
        let events = moments.map_while(|moment| Some(Event::default().data(moment?)));
        let end = tokio_stream::once(Event::default().event("end").data("over"));
        events.chain(end).map(Ok)
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
            self.tell(&of_fleet(scene));
        }
    }

    fn leave(&mut self, scene: &Scene<'_>) {
        let mut last = of_fleet(scene);
        last["api"] = Value::Null;
        self.tell(&last);
    }
}
