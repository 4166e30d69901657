//! A real HTTP server on loopback with a limit.

#![allow(dead_code, reason = "each test uses a part")]

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use tokio::net::TcpListener;

/// The settings of the server.
#[derive(Clone, Copy)]
pub(crate) struct Limit {
    /// Calls per second.
    pub(crate) rate: f64,
    /// The burst.
    pub(crate) burst: f64,
    /// Whether a rejection has a Retry-After.
    pub(crate) tells: bool,
    /// How long a call takes.
    pub(crate) latency: Duration,
}

impl Limit {
    pub(crate) const NONE: Self =
        Self { rate: 1e9, burst: 1e9, tells: false, latency: Duration::ZERO };

    pub(crate) const fn per_second(rate: f64, burst: f64) -> Self {
        Self { rate, burst, tells: true, latency: Duration::from_millis(5) }
    }
}

/// The server's counts.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) served: Vec<String>,
    pub(crate) rejected: usize,
    pub(crate) in_flight: usize,
    pub(crate) most_in_flight: usize,
    pub(crate) methods: Vec<Method>,
}

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    inner: Arc<Inner>,
}

struct Inner {
    limit: Limit,
    bucket: Mutex<(f64, Instant)>,
    seen: Mutex<Seen>,
}

impl Server {
    pub(crate) async fn start(limit: Limit) -> Self {
        let inner = Arc::new(Inner {
            limit,
            bucket: Mutex::new((limit.burst, Instant::now())),
            seen: Mutex::default(),
        });
        let app = Router::new().fallback(answer).with_state(inner.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { address, inner }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn seen<R>(&self, look: impl FnOnce(&Seen) -> R) -> R {
        look(&self.inner.seen.lock().unwrap())
    }
}

impl Inner {
    fn admits(&self) -> bool {
        let mut bucket = self.bucket.lock().unwrap();
        let now = Instant::now();
        let (level, since) = *bucket;
        let earned = now.duration_since(since).as_secs_f64() * self.limit.rate;
        let level = (level + earned).min(self.limit.burst);
        let admits = level >= 1.0;
        *bucket = (if admits { level - 1.0 } else { level }, now);
        admits
    }
}

/// Counts a call from its head to the end of its body.
struct Flight(Arc<Inner>);

impl Flight {
    fn new(inner: &Arc<Inner>) -> Self {
        let mut seen = inner.seen.lock().unwrap();
        seen.in_flight += 1;
        seen.most_in_flight = seen.most_in_flight.max(seen.in_flight);
        Self(inner.clone())
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.0.seen.lock().unwrap().in_flight -= 1;
    }
}

/// `/status/500` is answered with that status, `/throttled-once/60` first with a wait, `/stream` takes 60 ms after its head, and anything
/// else is echoed.
async fn answer(
    State(inner): State<Arc<Inner>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let flight = Flight::new(&inner);
    inner.seen.lock().unwrap().methods.push(method);
    tokio::time::sleep(inner.limit.latency).await;
    if !inner.admits() {
        inner.seen.lock().unwrap().rejected += 1;
        let wait = (1.0 / inner.limit.rate * 1_000.0).ceil();
        let told = [("retry-after-ms", wait.to_string())];
        return match inner.limit.tells {
            true => (StatusCode::TOO_MANY_REQUESTS, told).into_response(),
            false => StatusCode::TOO_MANY_REQUESTS.into_response(),
        };
    }
    let path = uri.path();
    if let Some(status) = path.strip_prefix("/status/") {
        return StatusCode::from_u16(status.parse().unwrap()).unwrap().into_response();
    }
    if let Some(wait) = path.strip_prefix("/throttled-once") {
        let first = inner.seen.lock().unwrap().methods.len() == 1;
        if first {
            let wait = wait.strip_prefix('/').unwrap_or("0").to_owned();
            return (StatusCode::TOO_MANY_REQUESTS, [("retry-after", wait)]).into_response();
        }
    }
    inner.seen.lock().unwrap().served.push(format!("{path}{}", String::from_utf8_lossy(&body)));
    if path == "/stream" {
        let parts = futures_util::stream::unfold((0, flight), |(sent, flight)| async move {
            if sent == 3 {
                return None;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
            Some((Ok::<_, std::convert::Infallible>("part;"), (sent + 1, flight)))
        });
        return Body::from_stream(parts).into_response();
    }
    drop(headers);
    body.into_response()
}
