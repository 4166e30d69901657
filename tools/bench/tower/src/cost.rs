//! The cost of a call that may be sent at once, compared with others.

use std::future::{Ready, ready};
use std::hint::black_box;
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use bytes::Bytes;
use governor::{Quota, RateLimiter};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use http_body_util::Empty;
use tidegate_tower::tidegate::law::Fixed;
use tidegate_tower::tidegate::{self, Policy};
use tidegate_tower::{Gate, ThrottleLayer};
use tower::{BoxError, Layer, Service, ServiceBuilder, ServiceExt, service_fn};

/// The fastest of these runs counts, because other load on the machine can only slow a run down.
const RUNS: u32 = 200;
const CALLS: u32 = 1_000;
/// A rate and a burst that no run reaches.
const RATE: u32 = 100_000_000;

type Call = Request<Empty<Bytes>>;
type Served = Response<Empty<Bytes>>;

/// The cost of a call, minus that of the service.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    pub client: &'static str,
    pub nanoseconds: f64,
}

/// The headers of an API's response, of which four are read.
const HEADERS: [(&str, &str); 10] = [
    ("content-type", "application/json"),
    ("content-length", "0"),
    ("date", "Thu, 26 Nov 2026 09:00:00 GMT"),
    ("server", "nginx"),
    ("cache-control", "no-cache"),
    ("vary", "accept-encoding"),
    ("x-request-id", "5f0c8d1e"),
    ("x-ratelimit-limit", "100000"),
    ("x-ratelimit-remaining", "99999"),
    ("x-ratelimit-reset", "60"),
];

/// In one thread, one call after the other: tidegate first, then the others.
pub async fn measure() -> Result<[Cost; 6]> {
    eprintln!("the cost of a call");
    let bare = service_fn(|_: Call| ready(Ok::<_, BoxError>(Served::default())));
    let layer = |gate: Gate| ServiceBuilder::new().layer(ThrottleLayer::new(gate)).service(bare);
    let headers = HEADERS
        .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
    let headers = &*Box::leak(Box::new(HeaderMap::from_iter(headers)));
    let mut bare_with = service_fn(|_: Call| {
        let mut served = Served::default();
        served.headers_mut().clone_from(headers);
        ready(Ok::<_, BoxError>(served))
    });

    let quota = tidegate::Quota::per_second(RATE.into())
        .and_then(|quota| quota.with_burst(RATE))
        .map_err(|error| anyhow!("{error}"))?;
    let mut fixed = layer(Gate::new(Policy::new(Fixed::new(quota))));
    let mut adaptive = layer(Gate::adaptive());
    let mut with = ThrottleLayer::new(Gate::new(Policy::new(Fixed::new(quota)))).layer(bare_with);

    let rate = NonZeroU32::new(RATE).context("the rate is zero")?;
    let limiter = RateLimiter::direct(Quota::per_second(rate));
    let limiter = &limiter;
    let mut governor = service_fn(|call: Call| async move {
        limiter.until_ready().await;
        bare.clone().call(call).await
    });

    let limit = ServiceBuilder::new().rate_limit(RATE.into(), Duration::from_secs(1));
    let mut tower = limit.clone().retry(Never).service(bare);
    let limited = limit.service(bare);
    let mut shared = ServiceBuilder::new().retry(Never).buffer(1_024).service(limited);

    let mut bare = bare;
    let mut least = [f64::INFINITY; 8];
    for _ in 0..RUNS {
        let now = [
            nanoseconds(&mut bare).await?,
            nanoseconds(&mut fixed).await?,
            nanoseconds(&mut adaptive).await?,
            nanoseconds(&mut bare_with).await?,
            nanoseconds(&mut with).await?,
            nanoseconds(&mut governor).await?,
            nanoseconds(&mut tower).await?,
            nanoseconds(&mut shared).await?,
        ];
        for (least, now) in least.iter_mut().zip(now) {
            *least = least.min(now);
        }
    }
    let [bare, fixed, adaptive, bare_with, with, governor, tower, shared] = least;
    Ok([
        ("tidegate-tower, `fixed`", fixed),
        ("tidegate-tower, `adaptive`", adaptive),
        ("tidegate-tower, `fixed`, ten headers", with - bare_with + bare),
        ("governor `until_ready`, no retry", governor),
        ("tower RateLimit + Retry, for one task", tower),
        ("tower Retry + Buffer + RateLimit, for many tasks", shared),
    ]
    .map(|(client, all)| Cost { client, nanoseconds: all - bare }))
}

async fn nanoseconds<S, R>(service: &mut S) -> Result<f64>
where
    S: Service<Call, Response = R>,
    S::Error: Into<BoxError>,
{
    let start = Instant::now();
    for _ in 0..CALLS {
        let service = service.ready().await.map_err(|error| anyhow!(error.into()))?;
        let response = service.call(black_box(Call::default())).await;
        black_box(response.map_err(|error| anyhow!(error.into()))?);
    }
    Ok(start.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS))
}

/// A retry policy that never has to retry here.
#[derive(Clone)]
struct Never;

impl<E> tower::retry::Policy<Call, Served, E> for Never {
    type Future = Ready<()>;

    fn retry(&mut self, _: &mut Call, result: &mut Result<Served, E>) -> Option<Ready<()>> {
        let served = result.as_ref().is_ok_and(|response| response.status().is_success());
        (!served).then(|| ready(()))
    }

    fn clone_request(&mut self, request: &Call) -> Option<Call> {
        Some(request.clone())
    }
}
