//! Calls that state no cost, before a server that says afterwards what each one cost: in virtual time, and over real
//! sockets.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use bytes::Bytes;
use futures_util::StreamExt;
use http_body_util::{BodyExt, Full};
use tidegate_limits::{Bucket, Limit};
use tidegate_tower::tidegate::law::{Adaptive, Fixed};
use tidegate_tower::tidegate::{Policy, Quota};
use tidegate_tower::{Gate, PeekLayer, ThrottleLayer};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tower::{ServiceBuilder, ServiceExt};

use crate::common::{bucket, hyper, serve};

const COST: u64 = 40;
const RATE: u64 = 1_000;

/// The response to a query, from a bucket as Shopify's GraphQL Admin API has it, twenty times as fast.
fn query(bucket: &mut Bucket, counts: &mut [usize; 2], now: u64) -> String {
    let served = bucket.take(now, COST);
    counts[usize::from(!served)] += 1;
    let (error, actual) = match served {
        true => ("", r#""actualQueryCost":40,"#),
        false => (r#""errors":[{"extensions":{"code":"THROTTLED"}}],"#, ""),
    };
    let left = bucket.remaining();
    format!(
        r#"{{{error}"extensions":{{"cost":{{"requestedQueryCost":40,{actual}"throttleStatus":{{"maximumAvailable":1000.0,"currentlyAvailable":{left},"restoreRate":{RATE}}}}}}}}}"#
    )
}

#[tokio::test(start_paused = true)]
async fn tasks_that_state_no_cost_use_a_bucket_of_points_and_are_hardly_throttled() {
    let server = Arc::new(Mutex::new((bucket(RATE, 1_000), [0; 2])));
    let (kept, began) = (server.clone(), Instant::now());
    let answer = move |_: http::Request<Full<Bytes>>| {
        let server = kept.clone();
        async move {
            tokio::time::sleep(Duration::from_millis(10)).await;
            let text = {
                let (bucket, counts) = &mut *server.lock().unwrap();
                query(bucket, counts, began.elapsed().as_nanos() as u64)
            };
            let response = http::Response::builder().header("content-type", "application/json");
            Ok::<_, std::io::Error>(response.body(Full::new(Bytes::from(text))).unwrap())
        }
    };
    let gate: Gate<2> = Gate::new(Policy::of([Adaptive::DEFAULT; 2]));
    let layer = ThrottleLayer::new(gate.clone());
    let service = ServiceBuilder::new()
        .layer(layer)
        .layer(PeekLayer::new().graphql())
        .service(tower::service_fn(answer));
    let mut tasks = JoinSet::new();
    for _ in 0..8 {
        let service = service.clone();
        tasks.spawn(async move {
            for _ in 0..20 {
                let request = http::Request::post("http://api.example/graphql");
                let request = request.body(Full::default()).unwrap();
                let response = service.clone().oneshot(request).await.unwrap();
                let text = response.into_body().collect().await.unwrap().to_bytes();
                assert!(!text.windows(9).any(|part| part == b"THROTTLED"), "it gave up");
            }
        });
    }
    tasks.join_all().await;
    let [served, throttled] = server.lock().unwrap().1;
    assert_eq!(served, 160);
    // 6400 points, of which 1000 are there at first.
    assert!(began.elapsed() < Duration::from_secs(8), "{:?} for what takes 5.4 s", began.elapsed());
    assert!(throttled <= 12, "{throttled} of {served} throttled");
}

const CHAT: [&str; 3] = [
    "data: {\"choices\":[{\"delta\":{\"content\":\"Hello\"}}]}\n\ndata: {\"choices\":[],\"usa",
    "ge\":{\"prompt_tokens\":19,\"completion_tokens\":281,\"total_tokens\":300}}\n\n",
    "data: [DONE]\n\n",
];

/// A server of a language model, which streams.
async fn chat() -> String {
    let answer = || async {
        let pieces = CHAT.map(|piece| Ok::<_, std::io::Error>(Bytes::from(piece)));
        let pieces = futures_util::stream::iter(pieces).then(|piece| async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            piece
        });
        let body = axum::body::Body::from_stream(pieces);
        ([("content-type", "text/event-stream")], body)
    };
    format!("http://{}/", serve(Router::new().fallback(answer)).await)
}

#[tokio::test(start_paused = true)]
async fn peek_counts_the_waiting_calls_at_their_cost_and_only_those_that_come_first() {
    let law =
        |each: u32| Fixed::new(Quota::per_second(each.into()).unwrap().with_burst(each).unwrap());
    let gate: Gate<2> = Gate::new(Policy::of([1_000, 1_000].map(law)));
    let call = || gate.key("api").costing([1, 1_000]);
    drop(call().try_acquire().unwrap());
    let mut waiting: Vec<_> = (0..3).map(|_| Box::pin(call().acquire())).collect();
    for call in &mut waiting {
        assert!(futures_util::FutureExt::now_or_never(call).is_none());
    }
    let told = |priority| call().with_priority(priority).peek().unwrap();
    let [told, urgent] = [0, 7].map(told);
    let began = Instant::now();
    for call in waiting {
        drop(call.await.unwrap());
    }
    drop(call().acquire().await.unwrap());
    assert_eq!([told, urgent].map(|wait| wait.as_millis()), [4_000, 1_000]);
    assert!(
        began.elapsed() - told < Duration::from_millis(10),
        "{:?} of {told:?}",
        began.elapsed()
    );
}

#[tokio::test]
async fn a_stream_is_charged_the_tokens_that_it_reports_at_its_end() {
    let url = chat().await;
    let law = |each: u32| {
        let quota = Quota::per_hour(each.into()).unwrap().with_burst(each).unwrap();
        Fixed::new(quota)
    };
    let gate: Gate<2> = Gate::new(Policy::of([1_000, 1_000].map(law)));
    let service = ServiceBuilder::new().layer(ThrottleLayer::new(gate.clone())).service(hyper());
    let call = || {
        let request = http::Request::post(&url).body(Full::<Bytes>::default()).unwrap();
        service.clone().oneshot(request)
    };
    let key = url.trim_start_matches("http://").trim_end_matches('/');
    let has_room = |tokens: u32| gate.key(key).costing([0, tokens]).peek() == Ok(Duration::ZERO);

    let response = call().await.unwrap();
    assert!(has_room(990), "the headers say nothing of tokens");
    let text = response.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(text, CHAT.concat());
    assert!(has_room(700) && !has_room(702), "300 are used");
    // The next one is charged what the first used, and pays that at once.
    let response = call().await.unwrap();
    assert!(has_room(400) && !has_room(402));
    drop(response); // What it used is not known.
    assert!(has_room(400) && !has_room(402));
    assert_eq!(gate.stats().in_flight, 0);
}
