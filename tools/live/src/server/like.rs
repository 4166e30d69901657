//! A server that limits like a provider, and counts each call.

use super::provider::Provider;
use super::told::since_1970;
use crate::options::Like;
use anyhow::{Context, Result};
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Serialize;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};
use tidegate_limits::{Any, Limit};
use tokio::net::TcpListener;
use tokio::time::sleep;

const LATENCY: Duration = Duration::from_millis(40);

/// How long others keep the places that they have.
const OTHERS: Duration = Duration::from_secs(2);

struct Api {
    provider: Provider,
    left: u64,
    inner: Mutex<Inner>,
}

struct Inner {
    begun: Instant,
    /// `None` before the first call.
    limit: Option<Any>,
    open: bool,
    counts: Counts,
}

/// The results of the calls. Times are milliseconds since the start.
#[derive(Clone, Debug, Default, Serialize)]
struct Counts {
    offered: u64,
    throttled: u64,
    /// Calls that were sent again after they had been served.
    twice: u64,
    /// When the first served call and the last call were answered.
    first: Option<f64>,
    last: Option<f64>,
    /// The wait in the first response to a throttled call.
    said: Option<f64>,
    passed: BTreeMap<String, f64>,
}

/// Serves until the process ends. `/calls/ID` is limited, and `/counts` has the counts. `/begin` starts the load, and
/// after `/open` every call is served, and none is counted.
pub async fn serve(options: &Like, ready: impl FnOnce(SocketAddr) -> Result<()>) -> Result<()> {
    let provider = options.provider.clone();
    let provider = if options.large { provider.large() } else { provider };
    let inner =
        Inner { begun: Instant::now(), limit: None, open: false, counts: Counts::default() };
    let api = Arc::new(Api { provider, left: options.left, inner: Mutex::new(inner) });
    let routes = Router::new()
        .route("/calls/{id}", get(call).post(call).delete(call))
        .route("/counts", get(async |api: State<Arc<Api>>| Json(api.inner().counts.clone())))
        .route("/begin", post(async |api: State<Arc<Api>>| api.inner().begun = Instant::now()))
        .route("/open", post(async |api: State<Arc<Api>>| api.inner().open = true))
        .with_state(api);
    let listener = TcpListener::bind(("127.0.0.1", options.port)).await;
    let listener = listener.context("cannot listen")?;
    ready(listener.local_addr()?)?;
    axum::serve(listener, routes).await.context("the server ended")
}

async fn call(State(api): State<Arc<Api>>, Path(id): Path<String>) -> Response {
    let Some((served, response)) = api.decide(id) else { return ().into_response() };
    let lasts = api.provider.lasts().filter(|_| served);
    {
        let _place = served.then(|| Place(&api));
        sleep(lasts.unwrap_or(LATENCY)).await;
    }
    let mut inner = api.inner();
    inner.counts.last = Some(inner.since());
    response
}

impl Api {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a call is served, and the response. `None` if it is not counted.
    fn decide(self: &Arc<Self>, id: String) -> Option<(bool, Response)> {
        let mut inner = self.inner();
        if inner.open {
            return None;
        }
        let clock = SystemTime::now();
        let now = since_1970(clock);
        if inner.limit.is_none() && self.left == 0 && self.provider.lasts().is_some() {
            let api = self.clone();
            tokio::spawn(async move {
                sleep(OTHERS).await;
                api.leave(u64::MAX);
            });
        }
        let since = inner.since();
        let Inner { limit, counts, .. } = &mut *inner;
        let limit = limit.get_or_insert_with(|| self.provider.start(now, self.left));
        let served = limit.take(now, self.provider.cost());
        counts.offered += 1;
        counts.twice += u64::from(counts.passed.contains_key(&id));
        let told = self.provider.told(limit, counts.offered, clock);
        if served {
            let latency = self.provider.lasts().unwrap_or(LATENCY);
            counts.first.get_or_insert(since + latency.as_secs_f64() * 1e3);
            counts.passed.insert(id, since);
        } else {
            counts.throttled += 1;
            counts.said = counts.said.or_else(|| self.provider.said(&told));
        }
        Some((served, self.provider.response(served, &told)))
    }

    /// Frees at most this many places.
    fn leave(&self, most: u64) {
        if let Some(Any::Concurrency(places)) = &mut self.inner().limit {
            places.leave(most.min(places.most()));
        }
    }
}

impl Inner {
    fn since(&self) -> f64 {
        self.begun.elapsed().as_secs_f64() * 1e3
    }
}

/// The place of a served call. It is released even if the connection is lost.
struct Place<'a>(&'a Api);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.leave(1);
    }
}
