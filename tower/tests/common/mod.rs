//! A real HTTP server on loopback with a limit, and policies.

#![allow(dead_code, reason = "each program uses a part")]

use std::future::poll_fn;
use std::net::SocketAddr;
use std::num::NonZeroU16;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use http_body_util::Full;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tidegate_limits::Limit as _;
use tidegate_tower::tidegate::law::Fixed;
use tidegate_tower::tidegate::{Hint, Outcome, Policy, Quota, Reply, Span};
use tokio::net::TcpListener;

const SECOND: u64 = 1_000_000_000;

pub(crate) fn unlimited() -> Policy<Fixed> {
    Policy::new(Fixed::UNLIMITED).backoff(None)
}

pub(crate) fn per_second(count: u64, burst: u32) -> Policy<Fixed> {
    let quota = Quota::per_second(count).unwrap().with_burst(burst).unwrap();
    Policy::new(Fixed::new(quota)).backoff(None)
}

pub(crate) fn concurrently(count: u16) -> Policy<Fixed> {
    unlimited().concurrency(NonZeroU16::new(count).unwrap())
}

pub(crate) fn per_minute(count: u64) -> Policy<Fixed> {
    Policy::new(Fixed::new(Quota::per_minute(count).unwrap()))
}

/// A response that asks for a wait.
pub(crate) fn throttled(seconds: u64) -> Reply {
    Outcome::Throttled.with(Hint::retry_after(Span::from_secs(seconds)))
}

pub(crate) type Hyper = Client<HttpConnector, Full<Bytes>>;

pub(crate) fn hyper() -> Hyper {
    Client::builder(TokioExecutor::new()).build_http()
}

/// A full bucket of `burst` calls that regains `rate` a second.
pub(crate) fn bucket(rate: u64, burst: u64) -> tidegate_limits::Bucket {
    tidegate_limits::Bucket::new(rate, SECOND, burst)
}

/// The nanoseconds since then.
pub(crate) fn nanos_since(since: Instant) -> u64 {
    since.elapsed().as_nanos() as u64
}

/// Serves on a free port of the loopback interface until the end of the test.
pub(crate) async fn serve(app: Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    address
}

/// An address at which no server listens.
pub(crate) fn nowhere() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}/", listener.local_addr().unwrap())
}

/// Polls a future this many times, each time after it was woken, and drops it. Returns whether it
/// had completed.
pub(crate) async fn drop_after(polls: usize, future: impl Future) -> bool {
    let mut future = pin!(future);
    let mut left = polls;
    poll_fn(|cx| {
        if left == 0 {
            return Poll::Ready(false);
        }
        left -= 1;
        let poll = future.as_mut().poll(cx).map(|_| true);
        // Dropped immediately, not when it would next be polled.
        if left == 0 && poll.is_pending() { Poll::Ready(false) } else { poll }
    })
    .await
}

#[derive(Clone, Copy)]
pub(crate) struct Limit {
    rate: u64,
    burst: u64,
    latency: Duration,
}

impl Limit {
    pub(crate) const NONE: Self = Self { rate: SECOND, burst: SECOND, latency: Duration::ZERO };

    pub(crate) const fn per_second(rate: u64, burst: u64) -> Self {
        Self { rate, burst, latency: Duration::from_millis(5) }
    }
}

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
    opened: Instant,
    latency: Duration,
    bucket: Mutex<tidegate_limits::Bucket>,
    seen: Mutex<Seen>,
}

impl Server {
    pub(crate) async fn start(limit: Limit) -> Self {
        let inner = Arc::new(Inner {
            opened: Instant::now(),
            latency: limit.latency,
            bucket: Mutex::new(bucket(limit.rate, limit.burst)),
            seen: Mutex::default(),
        });
        let app = Router::new().fallback(answer).with_state(inner.clone());
        Self { address: serve(app).await, inner }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn seen<R>(&self, look: impl FnOnce(&Seen) -> R) -> R {
        look(&self.inner.seen.lock().unwrap())
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

/// `/status/500` is answered with that status, and a query with `x-should-retry`. `/throttled-once/60` first with a wait, `/stream` takes 60 ms after its
/// head, and anything else is echoed. A call beyond the limit is told when the next one fits.
async fn answer(
    State(inner): State<Arc<Inner>>,
    method: Method,
    uri: Uri,
    body: Bytes,
) -> Response {
    let flight = Flight::new(&inner);
    inner.seen.lock().unwrap().methods.push(method);
    tokio::time::sleep(inner.latency).await;
    let wait = {
        let mut bucket = inner.bucket.lock().unwrap();
        let served = bucket.take(nanos_since(inner.opened), 1);
        (!served).then(|| bucket.retry_after(1).div_ceil(SECOND / 1_000))
    };
    if let Some(wait) = wait {
        inner.seen.lock().unwrap().rejected += 1;
        let told = [("retry-after-ms", wait.to_string())];
        return (StatusCode::TOO_MANY_REQUESTS, told).into_response();
    }
    let path = uri.path();
    if let Some(status) = path.strip_prefix("/status/") {
        let status = StatusCode::from_u16(status.parse().unwrap()).unwrap();
        let should_retry = [("x-should-retry", uri.query().unwrap_or_default().to_owned())];
        return (status, should_retry).into_response();
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
    body.into_response()
}
