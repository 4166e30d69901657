//! A real HTTP server on loopback with a limit, which counts served and rejected calls.

use std::convert::Infallible;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use futures_util::stream;
use http::{HeaderMap, HeaderValue, StatusCode};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

/// The header with the tokens that a request will use, or that a response has used.
pub const TOKENS: &str = "x-tokens";

/// The limit of a server.
#[derive(Clone, Copy, Debug)]
pub enum Limit {
    /// A token bucket. If `tells` is true, it reports its state in `X-RateLimit-*`.
    Bucket { rate: f64, burst: f64, tells: bool },
    /// Calls per window, counted from the start. A rejection has `Retry-After`.
    Window { calls: u32, length: Duration },
    /// A bucket of requests and one of tokens, reported like APIs of language models.
    Model { requests: (f64, f64), tokens: (f64, f64) },
    /// Concurrent calls, each of which takes this long.
    InFlight { most: u32, work: Work },
}

/// When a call in flight does its work.
#[derive(Clone, Copy, Debug)]
pub enum Work {
    /// Before the headers.
    Headers(Duration),
    /// Between the chunks of the body.
    Stream(Duration),
}

/// A server that runs until it is dropped.
pub struct Server {
    pub url: String,
    inner: Arc<Inner>,
    task: JoinHandle<()>,
}

struct Inner {
    limit: Limit,
    latency: Duration,
    start: Instant,
    state: Mutex<Books>,
    in_flight: AtomicU32,
    rejected: AtomicU32,
}

/// The state of the limits.
struct Books {
    requests: Bucket,
    tokens: Bucket,
    window: (u128, u32),
}

impl Server {
    pub async fn start(limit: Limit, latency: Duration) -> Result<Self> {
        let inner = Arc::new(Inner {
            limit,
            latency,
            start: Instant::now(),
            state: Mutex::new(Books::new(limit)),
            in_flight: AtomicU32::new(0),
            rejected: AtomicU32::new(0),
        });
        let app = Router::new().fallback(answer).with_state(inner.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/", listener.local_addr()?);
        let task = tokio::spawn(async move { _ = axum::serve(listener, app).await });
        Ok(Self { url, inner, task })
    }

    pub fn rejected(&self) -> u32 {
        self.inner.rejected.load(Relaxed)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(State(server): State<Arc<Inner>>, headers: HeaderMap) -> Response {
    sleep(server.latency / 2).await;
    let response = match server.limit {
        Limit::InFlight { most, work } => server.clone().work(most, work).await,
        _ => server.decide(&headers),
    };
    if response.status() == StatusCode::TOO_MANY_REQUESTS {
        server.rejected.fetch_add(1, Relaxed);
    }
    sleep(server.latency / 2).await;
    response
}

impl Inner {
    /// Charges the call if the limit has room for it.
    fn decide(&self, headers: &HeaderMap) -> Response {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match self.limit {
            Limit::Bucket { tells, .. } => {
                let requests = &mut state.requests;
                requests.refill();
                let served = requests.level >= 1.0;
                requests.level -= f64::from(u8::from(served));
                let mut response = plain(served);
                if tells {
                    tell(&mut response, "x-ratelimit-limit", requests.burst);
                    tell(&mut response, "x-ratelimit-remaining", requests.level.floor());
                    tell(&mut response, "x-ratelimit-reset", requests.full_in().ceil());
                }
                response
            }
            Limit::Window { calls, length } => {
                let elapsed = self.start.elapsed();
                let number = elapsed.as_nanos() / length.as_nanos().max(1);
                if state.window.0 != number {
                    state.window = (number, 0);
                }
                state.window.1 += 1;
                let mut response = plain(state.window.1 <= calls);
                if response.status() != StatusCode::OK {
                    let length = length.as_secs_f64();
                    let left = length - elapsed.as_secs_f64() % length;
                    tell(&mut response, "retry-after", left.ceil());
                }
                response
            }
            Limit::Model { .. } => {
                let asked = headers.get(TOKENS).and_then(|value| value.to_str().ok()?.parse().ok());
                let used = asked.unwrap_or(1.0);
                let Books { requests, tokens, .. } = &mut *state;
                requests.refill();
                tokens.refill();
                let served = requests.level >= 1.0 && tokens.level >= used;
                let mut response = plain(served);
                if served {
                    requests.level -= 1.0;
                    tokens.level -= used;
                    tell(&mut response, TOKENS, used);
                }
                for (unit, bucket) in [("requests", requests), ("tokens", tokens)] {
                    let mut tell = |what: &str, value: String| {
                        set(&mut response, &format!("x-ratelimit-{what}-{unit}"), &value);
                    };
                    tell("limit", bucket.burst.to_string());
                    tell("remaining", bucket.level.floor().to_string());
                    tell("reset", format!("{}ms", (bucket.full_in() * 1_000.0).ceil()));
                }
                response
            }
            Limit::InFlight { .. } => plain(true),
        }
    }

    /// Does the work of a call, unless too many are in flight.
    async fn work(self: Arc<Self>, most: u32, work: Work) -> Response {
        let flight = Flight::new(self);
        if flight.number > most {
            return plain(false);
        }
        match work {
            Work::Headers(takes) => {
                sleep(takes).await;
                plain(true)
            }
            Work::Stream(takes) => {
                let pieces = stream::unfold((PIECES, flight), move |(left, flight)| async move {
                    let left = left.checked_sub(1)?;
                    sleep(takes / PIECES).await;
                    Some((Ok::<_, Infallible>("a piece\n"), (left, flight)))
                });
                Response::new(Body::from_stream(pieces))
            }
        }
    }
}

const PIECES: u32 = 5;

/// Counts a call as in flight until its work is done.
struct Flight {
    server: Arc<Inner>,
    number: u32,
}

impl Flight {
    fn new(server: Arc<Inner>) -> Self {
        let number = server.in_flight.fetch_add(1, Relaxed) + 1;
        Self { server, number }
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.server.in_flight.fetch_sub(1, Relaxed);
    }
}

impl Books {
    fn new(limit: Limit) -> Self {
        let (requests, tokens) = match limit {
            Limit::Bucket { rate, burst, .. } => ((rate, burst), (0.0, 0.0)),
            Limit::Model { requests, tokens } => (requests, tokens),
            Limit::Window { .. } | Limit::InFlight { .. } => ((0.0, 0.0), (0.0, 0.0)),
        };
        Self { requests: Bucket::new(requests), tokens: Bucket::new(tokens), window: (0, 0) }
    }
}

/// A token bucket that starts full.
struct Bucket {
    rate: f64,
    burst: f64,
    level: f64,
    at: Instant,
}

impl Bucket {
    fn new((rate, burst): (f64, f64)) -> Self {
        Self { rate, burst, level: burst, at: Instant::now() }
    }

    fn refill(&mut self) {
        let now = Instant::now();
        let earned = (now - self.at).as_secs_f64() * self.rate;
        (self.level, self.at) = ((self.level + earned).min(self.burst), now);
    }

    fn full_in(&self) -> f64 {
        (self.burst - self.level) / self.rate
    }
}

fn plain(served: bool) -> Response {
    let mut response = Response::new(Body::from(if served { "served" } else { "slow down" }));
    if !served {
        *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
    }
    response
}

fn tell(response: &mut Response, name: &'static str, value: f64) {
    response.headers_mut().insert(name, HeaderValue::from(value as u64));
}

fn set(response: &mut Response, name: &str, value: &str) {
    if let (Ok(name), Ok(value)) = (http::HeaderName::try_from(name), HeaderValue::from_str(value))
    {
        response.headers_mut().insert(name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The statuses of simultaneous calls, and how many the server counted as rejected.
    async fn statuses(limit: Limit, calls: usize) -> (usize, u32, Vec<reqwest::Response>) {
        let server = Server::start(limit, Duration::from_millis(20)).await.unwrap();
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let sent: Vec<_> =
            (0..calls).map(|_| tokio::spawn(client.get(&server.url).send())).collect();
        let mut responses = Vec::new();
        for sent in sent {
            responses.push(sent.await.unwrap().unwrap());
        }
        let served = responses.iter().filter(|response| response.status().is_success()).count();
        (served, server.rejected(), responses)
    }

    #[tokio::test]
    async fn a_bucket_serves_its_burst_and_reports_the_remaining_calls() {
        let limit = Limit::Bucket { rate: 0.001, burst: 5.0, tells: true };
        let (served, rejected, responses) = statuses(limit, 8).await;
        assert_eq!((served, rejected), (5, 3));
        assert!(responses.iter().all(|response| response.headers()["x-ratelimit-limit"] == "5"));
    }

    #[tokio::test]
    async fn a_window_rejects_until_the_next_one_and_reports_when_it_begins() {
        let limit = Limit::Window { calls: 5, length: Duration::from_secs(600) };
        let (served, rejected, responses) = statuses(limit, 8).await;
        assert_eq!((served, rejected), (5, 3));
        let told = |response: &&reqwest::Response| response.headers().contains_key("retry-after");
        assert_eq!(responses.iter().filter(told).count(), 3);
    }

    #[tokio::test]
    async fn tokens_run_out_before_requests_do() {
        let limit = Limit::Model { requests: (0.001, 10.0), tokens: (0.001, 3.0) };
        let (served, rejected, responses) = statuses(limit, 8).await;
        assert_eq!((served, rejected), (3, 5));
        let left = |response: &reqwest::Response| {
            response.headers()["x-ratelimit-remaining-tokens"] == "0"
        };
        assert!(responses.iter().any(left));
    }

    #[tokio::test]
    async fn a_stream_is_in_flight_until_its_body_ends() {
        let limit = Limit::InFlight { most: 3, work: Work::Stream(Duration::from_secs(600)) };
        let (served, rejected, _) = statuses(limit, 8).await;
        assert_eq!((served, rejected), (3, 5));
    }
}
