//! A real HTTP server on loopback with a limit, which counts served and rejected calls.

use std::convert::Infallible;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Result;
use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use futures_util::stream;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use tidegate_limits::{Any, Bucket, Concurrency, Window};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

/// The header with the tokens that a request will use, or that a response has used.
pub const TOKENS: &str = "x-tokens";

/// The limit of a server. Rates are per second.
#[derive(Clone, Copy, Debug)]
pub enum Limit {
    /// A token bucket. If `tells` is true, it reports its state in `X-RateLimit-*`.
    Bucket { rate: u64, burst: u64, tells: bool },
    /// Calls per window, counted from the start. A rejection has `Retry-After`.
    Window { calls: u64, length: Duration },
    /// A bucket of requests and one of tokens, reported like APIs of language models.
    Model { requests: (u64, u64), tokens: (u64, u64) },
    /// Concurrent calls, each of which takes this long.
    InFlight { most: u64, work: Work },
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
    /// That of calls, and that of tokens.
    limits: Mutex<Vec<Any>>,
    rejected: AtomicU32,
}

impl Server {
    pub async fn start(limit: Limit, latency: Duration) -> Result<Self> {
        let inner = Arc::new(Inner {
            limit,
            latency,
            start: Instant::now(),
            limits: Mutex::new(limits(limit)),
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
        Limit::InFlight { work, .. } => server.clone().work(work).await,
        _ => server.decide(&headers),
    };
    if response.status() == StatusCode::TOO_MANY_REQUESTS {
        server.rejected.fetch_add(1, Relaxed);
    }
    sleep(server.latency / 2).await;
    response
}

impl Inner {
    fn limits(&self) -> MutexGuard<'_, Vec<Any>> {
        self.limits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Charges the call if the limit has room for it.
    fn decide(&self, headers: &HeaderMap) -> Response {
        let asked = headers.get(TOKENS).and_then(|value| value.to_str().ok()?.parse().ok());
        let used = asked.unwrap_or(1);
        let mut limits = self.limits();
        let served = take(&mut limits, nanos(self.start.elapsed()), [1, used]);
        let (mut response, limit) = (plain(served), &limits[0]);
        match self.limit {
            Limit::Bucket { tells: true, .. } => {
                tell(&mut response, "x-ratelimit-limit", limit.most());
                tell(&mut response, "x-ratelimit-remaining", limit.remaining());
                tell(&mut response, "x-ratelimit-reset", limit.reset().div_ceil(SECOND));
            }
            Limit::Window { .. } if !served => {
                tell(&mut response, "retry-after", limit.reset().div_ceil(SECOND));
            }
            Limit::Model { .. } => {
                if served {
                    tell(&mut response, TOKENS, used);
                }
                for (unit, limit) in ["requests", "tokens"].into_iter().zip(limits.iter()) {
                    let mut tell = |what: &str, value: &dyn ToString| {
                        tell(
                            &mut response,
                            &format!("x-ratelimit-{what}-{unit}"),
                            value.to_string(),
                        );
                    };
                    tell("limit", &limit.most());
                    tell("remaining", &limit.remaining());
                    tell("reset", &format!("{}ms", limit.reset().div_ceil(SECOND / 1_000)));
                }
            }
            _ => {}
        }
        response
    }

    /// Does the work of a call, unless too many are in flight.
    async fn work(self: Arc<Self>, work: Work) -> Response {
        if !take(&mut self.limits(), 0, [1, 0]) {
            return plain(false);
        }
        let flight = Flight(self);
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

/// Occupies a place until the work of a call is done.
struct Flight(Arc<Inner>);

impl Drop for Flight {
    fn drop(&mut self) {
        if let Some(Any::Concurrency(places)) = self.0.limits().first_mut() {
            places.leave(1);
        }
    }
}

/// Whether all limits have room for a call, which is charged to them then.
fn take(limits: &mut [Any], now: u64, costs: [u64; 2]) -> bool {
    // All are asked, so that the answers of all are those of this time.
    let room: Vec<_> =
        limits.iter_mut().zip(costs).map(|(limit, cost)| limit.fits(now, cost)).collect();
    let fits = !room.contains(&false);
    if fits {
        limits.iter_mut().zip(costs).for_each(|(limit, cost)| limit.charge(cost));
    }
    fits
}

const SECOND: u64 = 1_000_000_000;

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn limits(limit: Limit) -> Vec<Any> {
    let bucket = |(rate, burst)| Any::Bucket(Bucket::new(rate, SECOND, burst));
    match limit {
        Limit::Bucket { rate, burst, .. } => vec![bucket((rate, burst))],
        Limit::Window { calls, length } => vec![Any::Window(Window::new(calls, nanos(length)))],
        Limit::Model { requests, tokens } => vec![bucket(requests), bucket(tokens)],
        Limit::InFlight { most, .. } => vec![Any::Concurrency(Concurrency::new(most, 0))],
    }
}

fn plain(served: bool) -> Response {
    let mut response = Response::new(Body::from(if served { "served" } else { "slow down" }));
    if !served {
        *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
    }
    response
}

fn tell(response: &mut Response, name: &str, value: impl ToString) {
    let (name, value) = (HeaderName::try_from(name), HeaderValue::try_from(value.to_string()));
    if let (Ok(name), Ok(value)) = (name, value) {
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
    async fn each_limit_serves_what_it_has_and_reports_it() {
        let long = Duration::from_secs(600);
        for (limit, serves, name, value) in [
            (Limit::Bucket { rate: 0, burst: 5, tells: true }, 5, "x-ratelimit-limit", "5"),
            (Limit::Window { calls: 5, length: long }, 5, "retry-after", ""),
            // Tokens run out before requests do.
            (
                Limit::Model { requests: (0, 10), tokens: (0, 3) },
                3,
                "x-ratelimit-remaining-tokens",
                "0",
            ),
            // A stream is in flight until its body ends.
            (Limit::InFlight { most: 3, work: Work::Stream(long) }, 3, "content-length", "9"),
        ] {
            let (served, rejected, responses) = statuses(limit, 8).await;
            assert_eq!((served, rejected), (serves, 8 - serves as u32), "{limit:?}");
            let is_told = |response: &&reqwest::Response| {
                let told = response.headers().get(name).and_then(|told| told.to_str().ok());
                told.is_some_and(|told| value.is_empty() || told == value)
            };
            let told = responses.iter().filter(is_told).count();
            assert!(told >= 8 - serves, "{limit:?}: {told}");
        }
    }
}
