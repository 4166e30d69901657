//! A service whose tasks share one gate for an API, with a Prometheus endpoint and a text
//! dashboard.
//!
//! `cargo run -p tidegate-tower --example service --features metrics,reqwest --
//! https://api.example.com`, then `curl localhost:3000/things/7` and `curl localhost:3000/metrics`.

use std::error::Error;
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::get;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use tidegate_tower::{Gate, SendError, SendThrough, Stats, WAIT_BUCKETS};
use tokio::net::TcpListener;
use tokio::time::interval;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let api = std::env::args().nth(1).ok_or("name the API, as https://api.example.com")?;
    let waits = Matcher::Full("tidegate_wait_seconds".to_owned());
    let scrape = PrometheusBuilder::new()
        .set_buckets_for_metric(waits, &WAIT_BUCKETS)?
        .install_recorder()?;
    let service = Service { gate: Gate::adaptive(), client: reqwest::Client::new(), api, scrape };

    let gate = service.gate.clone();
    tokio::spawn(async move {
        let mut seconds = interval(Duration::from_secs(1));
        loop {
            seconds.tick().await;
            println!("{}", dashboard(&gate.stats()));
        }
    });
    let listener = TcpListener::bind("127.0.0.1:3000").await?;
    Ok(axum::serve(listener, app(service)).await?)
}

/// The state that handlers share.
#[derive(Clone)]
pub struct Service {
    /// One for all tasks.
    pub gate: Gate,
    /// The client that the gate paces.
    pub client: reqwest::Client,
    /// The API's address.
    pub api: String,
    /// The output for Prometheus.
    pub scrape: PrometheusHandle,
}

/// The service.
pub fn app(service: Service) -> Router {
    Router::new()
        .route("/things/{id}", get(thing))
        .route("/metrics", get(metrics))
        .with_state(service)
}

async fn thing(
    State(service): State<Service>,
    Path(id): Path<String>,
) -> Result<String, (StatusCode, String)> {
    let Service { gate, client, api, .. } = service;
    let thing = async {
        let response = client.get(format!("{api}/things/{id}")).send_through(&gate).await?;
        Ok(response.text().await?)
    };
    thing.await.map_err(|error: SendError| (StatusCode::BAD_GATEWAY, error.to_string()))
}

async fn metrics(State(service): State<Service>) -> String {
    service.scrape.render()
}

/// One line with the pacing and the results of calls.
pub fn dashboard(stats: &Stats) -> String {
    let pace = match stats.interval {
        Some(interval) => format!("{:7.1}/s", 1.0 / interval.as_secs_f64()),
        None => "     open".to_owned(),
    };
    let counts = &stats.counts;
    format!(
        "pace {pace}  in flight {:4}  waiting {:5}  served {:7}  throttled {:5}  failed {:5}",
        stats.in_flight, stats.waiting, counts.ok, counts.throttled, counts.failed
    )
}
