//! A limit of 20 000 calls a second on loopback, with the layer and with alternatives.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use bytes::Bytes;
use governor::{Quota, RateLimiter};
use http::{Request, Response, Uri};
use http_body::Body;
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tidegate_tower::tidegate::law::Fixed;
use tidegate_tower::tidegate::{self, Policy};
use tidegate_tower::{Gate, ThrottleLayer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::task::JoinSet;
use tokio::time::sleep;
use tower::{BoxError, Layer, Service, ServiceBuilder, ServiceExt, service_fn};

const RATE: u32 = 20_000;

/// The fastest of these runs counts.
const RUNS: u32 = 10;
const WARMING: Duration = Duration::from_millis(300);
const MEASURED: Duration = Duration::from_secs(1);
/// The number of tasks. Each makes one call after the other.
const TASKS: u32 = 128;

type Call = Request<Empty<Bytes>>;

#[derive(Clone, Copy, Debug)]
pub struct Speed {
    pub client: &'static str,
    pub per_second: f64,
}

impl Speed {
    /// The share of the rate that it used.
    pub fn share(&self) -> f64 {
        self.per_second / f64::from(RATE)
    }
}

/// Measures tidegate first, and the machine without a limit last.
pub async fn measure() -> Result<[Speed; 4]> {
    // The server runs in another thread, like a separate process.
    let server = Builder::new_multi_thread().worker_threads(1).enable_io().build()?;
    let listener = server.spawn(TcpListener::bind("127.0.0.1:0")).await??;
    let uri: Uri = format!("http://{}/", listener.local_addr()?).parse()?;
    server.spawn(serve(listener));
    let http = Client::builder(TokioExecutor::new()).build_http::<Empty<Bytes>>();

    let names = ["tidegate-tower, `fixed`", "governor, burst of 1", "tower RateLimit", "no limit"];
    let mut speeds = names.map(|client| Speed { client, per_second: 0.0 });
    for run in 1..=RUNS {
        eprintln!("20 000 calls a second: run {run} of {RUNS}");
        let quota = tidegate::Quota::per_second(RATE.into()).map_err(|error| anyhow!("{error}"))?;
        let gate: Gate = Gate::new(Policy::new(Fixed::new(quota)));
        let tidegate = ThrottleLayer::new(gate).layer(http.clone());

        let rate = NonZeroU32::new(RATE).context("the rate is zero")?;
        // Without governor's default burst of a second, because tidegate has no burst either.
        let quota = Quota::per_second(rate).allow_burst(NonZeroU32::MIN);
        let limiter = Arc::new(RateLimiter::direct(quota));
        let client = http.clone();
        let governor = service_fn(move |call: Call| {
            let (limiter, client) = (limiter.clone(), client.clone());
            async move {
                limiter.until_ready().await;
                client.request(call).await
            }
        });

        let limited = ServiceBuilder::new().rate_limit(RATE.into(), Duration::from_secs(1));
        let tower = ServiceBuilder::new().buffer(1_024).service(limited.service(http.clone()));

        let now = [
            calls_per_second(tidegate, &uri).await?,
            calls_per_second(governor, &uri).await?,
            calls_per_second(tower, &uri).await?,
            calls_per_second(http.clone(), &uri).await?,
        ];
        for (speed, now) in speeds.iter_mut().zip(now) {
            speed.per_second = speed.per_second.max(now);
        }
    }
    server.shutdown_background();
    Ok(speeds)
}

async fn calls_per_second<S, B>(service: S, uri: &Uri) -> Result<f64>
where
    S: Service<Call, Response = Response<B>, Future: Send> + Clone + Send + 'static,
    S::Error: Into<BoxError> + Send,
    B: Body<Data: Send, Error: Into<BoxError>> + Send + 'static,
{
    let (made, over) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let mut tasks = JoinSet::new();
    for _ in 0..TASKS {
        let (mut service, uri) = (service.clone(), uri.clone());
        let (made, over) = (made.clone(), over.clone());
        tasks.spawn(async move {
            while !over.load(Relaxed) {
                let mut call = Call::default();
                call.uri_mut().clone_from(&uri);
                let service = service.ready().await.map_err(Into::into)?;
                let response = service.call(call).await.map_err(Into::into)?;
                response.into_body().collect().await.map_err(Into::into)?;
                made.fetch_add(1, Relaxed);
            }
            Ok::<_, BoxError>(())
        });
    }
    sleep(WARMING).await;
    let (start, before) = (Instant::now(), made.load(Relaxed));
    sleep(MEASURED).await;
    let (seconds, after) = (start.elapsed().as_secs_f64(), made.load(Relaxed));
    over.store(true, Relaxed);
    while let Some(done) = tasks.join_next().await {
        done?.map_err(|error| anyhow!(error))?;
    }
    Ok((after - before) as f64 / seconds)
}

async fn serve(listener: TcpListener) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(answer(stream));
    }
}

async fn answer(mut stream: TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut read = Vec::with_capacity(1_024);
    while stream.read_buf(&mut read).await? > 0 {
        // The client sends one request at a time, without a body.
        if read.ends_with(b"\r\n\r\n") {
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await?;
            read.clear();
        }
    }
    Ok(())
}
