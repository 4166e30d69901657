//! The example `service` against a real API.

#[allow(dead_code, reason = "the example's own start")]
#[path = "../../examples/service.rs"]
mod example;

use crate::common::{Limit, Server, serve};
use example::{Service, app, dashboard};
use metrics_exporter_prometheus::PrometheusBuilder;
use tidegate_tower::Gate;
use tokio::task::JoinSet;

#[tokio::test]
async fn twenty_clients_of_a_service_share_its_gate() {
    let api = Server::start(Limit::per_second(100, 5)).await;
    let recorder = PrometheusBuilder::new().build_recorder();
    // For this thread, on which all tasks run.
    let _local = metrics::set_default_local_recorder(&recorder);
    let service = Service {
        gate: Gate::adaptive(),
        client: reqwest::Client::new(),
        api: api.url(""),
        scrape: recorder.handle(),
    };
    let gate = service.gate.clone();
    let address = serve(app(service)).await;

    let client = reqwest::Client::new();
    let mut tasks = JoinSet::new();
    for task in 0..20 {
        let client = client.clone();
        tasks.spawn(async move {
            for call in 0..5 {
                let url = format!("http://{address}/things/{task}.{call}");
                assert_eq!(client.get(url).send().await.unwrap().status(), 200);
            }
        });
    }
    tasks.join_all().await;
    let (mut served, rejected) = api.seen(|seen| (seen.served.clone(), seen.rejected));
    served.sort();
    served.dedup();
    assert_eq!(served.len(), 100);
    let scrape = client.get(format!("http://{address}/metrics")).send().await.unwrap();
    let scrape = scrape.text().await.unwrap();
    let attempts = format!("tidegate_attempts_total{{key=\"{}\"}} {}", api.address, 100 + rejected);
    assert!(scrape.contains(&attempts), "{attempts} is not in\n{scrape}");
    let line = dashboard(&gate.stats());
    assert!(line.contains("served     100"), "{line}");
}
