//! The metrics of a gate, over real calls.

use std::time::Duration;

use crate::common::{Limit, Server};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder};
use tidegate_tower::tidegate::law::Fixed;
use tidegate_tower::tidegate::{Policy, Quota};
use tidegate_tower::{Gate, SendThrough, WAIT_BUCKETS};

#[tokio::test]
async fn metrics_count_waits_attempts_and_outcomes() {
    let waits = Matcher::Full("tidegate_wait_seconds".to_owned());
    let recorder = PrometheusBuilder::new()
        .set_buckets_for_metric(waits, &WAIT_BUCKETS)
        .unwrap()
        .build_recorder();
    let scrape = recorder.handle();
    let _local = metrics::set_default_local_recorder(&recorder);

    let server = Server::start(Limit::NONE).await;
    let client = reqwest::Client::new();
    let gate = Gate::new(Policy::new(Fixed::new(Quota::per_second(4).unwrap())));
    for path in ["/throttled-once", "/", "/status/404"] {
        client.get(server.url(path)).send_through(&gate).await.unwrap();
    }
    client.post(server.url("/status/500")).send_through(&gate).await.unwrap();
    let host = server.address.to_string();
    let hasty = gate.key(&host).with_timeout(Duration::ZERO);
    hasty.acquire().await.unwrap_err();

    let text = scrape.render();
    let key = format!("key=\"{host}\"");
    for line in [
        format!("tidegate_attempts_total{{{key}}} 5"),
        format!("tidegate_outcomes_total{{{key},outcome=\"throttled\"}} 1"),
        format!("tidegate_outcomes_total{{{key},outcome=\"ok\"}} 3"),
        format!("tidegate_rejections_total{{{key},reason=\"late\"}} 1"),
        format!("tidegate_rejections_total{{{key},reason=\"not idempotent\"}} 1"),
        format!("tidegate_interval_seconds{{{key}}} 0.25"),
        format!("tidegate_in_flight{{{key}}} 0"),
        format!("tidegate_waiting{{{key}}} 0"),
        format!("tidegate_wait_seconds_count{{{key},cause=\"none\"}} 1"),
        format!("tidegate_wait_seconds_bucket{{{key},cause=\"pacing\",le=\"3600\"}}"),
    ] {
        assert!(text.contains(&line), "{line} is not in\n{text}");
    }
}
