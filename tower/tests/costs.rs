//! Calls that state no cost, before a real server that says afterwards what each one cost.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tidegate_tower::tidegate::Policy;
use tidegate_tower::tidegate::law::Adaptive;
use tidegate_tower::{Gate, PeekLayer, ThrottleLayer};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tower::{ServiceBuilder, ServiceExt};

const COST: f64 = 40.0;
const RATE: f64 = 1_000.0;

/// A bucket as Shopify's GraphQL Admin API has it, twenty times as fast.
struct Bucket {
    points: f64,
    latest: Instant,
    served: usize,
    throttled: usize,
}

impl Bucket {
    fn query(&mut self) -> String {
        let now = Instant::now();
        let earned = (now - self.latest).as_secs_f64() * RATE;
        (self.points, self.latest) = ((self.points + earned).min(1_000.0), now);
        let mut error = r#""errors":[{"extensions":{"code":"THROTTLED"}}],"#;
        let mut actual = "";
        if self.points >= COST {
            self.points -= COST;
            (error, actual) = ("", r#""actualQueryCost":40,"#);
            self.served += 1;
        } else {
            self.throttled += 1;
        }
        let left = self.points.floor();
        format!(
            r#"{{{error}"extensions":{{"cost":{{"requestedQueryCost":40,{actual}"throttleStatus":{{"maximumAvailable":1000.0,"currentlyAvailable":{left},"restoreRate":{RATE}}}}}}}}}"#
        )
    }
}

async fn server() -> (String, Arc<Mutex<Bucket>>) {
    let bucket = Bucket { points: 1_000.0, latest: Instant::now(), served: 0, throttled: 0 };
    let bucket = Arc::new(Mutex::new(bucket));
    let kept = bucket.clone();
    let answer = move || {
        let bucket = kept.clone();
        async move {
            tokio::time::sleep(Duration::from_millis(10)).await;
            let text = bucket.lock().unwrap().query();
            ([("content-type", "application/json")], text)
        }
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/graphql", listener.local_addr().unwrap());
    let app = Router::new().fallback(answer);
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    (url, bucket)
}

#[tokio::test]
async fn tasks_that_state_no_cost_use_a_bucket_of_points_and_are_hardly_throttled() {
    let (url, bucket) = server().await;
    let gate: Gate<2> = Gate::new(Policy::of([Adaptive::DEFAULT; 2]));
    let client = Client::builder(TokioExecutor::new()).build_http::<Full<Bytes>>();
    let layer = ThrottleLayer::new(gate.clone());
    let service =
        ServiceBuilder::new().layer(layer).layer(PeekLayer::new().graphql()).service(client);
    let began = Instant::now();
    let mut tasks = JoinSet::new();
    for _ in 0..8 {
        let (service, url) = (service.clone(), url.clone());
        tasks.spawn(async move {
            for _ in 0..20 {
                let request = http::Request::post(&url).body(Full::default()).unwrap();
                let response = service.clone().oneshot(request).await.unwrap();
                let text = response.into_body().collect().await.unwrap().to_bytes();
                assert!(!text.windows(9).any(|part| part == b"THROTTLED"), "it gave up");
            }
        });
    }
    tasks.join_all().await;
    let (served, throttled) = {
        let bucket = bucket.lock().unwrap();
        (bucket.served, bucket.throttled)
    };
    assert_eq!(served, 160);
    // 6400 points, of which 1000 are there at first.
    assert!(began.elapsed() < Duration::from_secs(8), "{:?} for what takes 5.4 s", began.elapsed());
    assert!(throttled <= 12, "{throttled} of {served} throttled");
}
