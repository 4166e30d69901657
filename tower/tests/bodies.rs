//! Bodies over real sockets: the gate reads them, and the caller gets them complete.
#![cfg(feature = "reqwest")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use axum::response::Response;
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tidegate_tower::tidegate::{Policy, Reason, law::Fixed};
use tidegate_tower::{Error, Gate, PeekLayer, SendThrough, ThrottleLayer};
use tokio::net::TcpListener;
use tower::{Service, ServiceBuilder, ServiceExt};

const EXHAUSTED: &str = r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}"#;
const DRIVE: &str = r#"{"error":{"errors":[{"reason":"userRateLimitExceeded"}],"code":403}}"#;
const SHOPIFY: &str = r#"{"errors":[{"extensions":{"code":"THROTTLED"}}]}"#;

/// A server whose first response is this one, in chunks of seven bytes, and that serves afterwards.
/// It counts its calls.
async fn server(status: u16, body: String) -> (String, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let answer = move || {
        let is_first = counted.fetch_add(1, Ordering::SeqCst) == 0;
        let body = if is_first { body.clone() } else { String::from("served") };
        async move {
            let parts: Vec<_> = body.into_bytes().chunks(7).map(Bytes::copy_from_slice).collect();
            let parts = futures_util::stream::iter(parts.into_iter().map(Ok::<_, std::io::Error>));
            let status = StatusCode::from_u16(if is_first { status } else { 200 }).unwrap();
            let response = Response::builder().status(status);
            response
                .header("content-type", "application/json")
                .body(Body::from_stream(parts))
                .unwrap()
        }
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let app = Router::new().fallback(answer);
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    (url, calls)
}

fn gate() -> Gate {
    Gate::new(Policy::new(Fixed::UNLIMITED).backoff(None).attempts(std::num::NonZeroU16::new(3)))
}

#[tokio::test]
async fn an_exhausted_quota_is_called_once_and_its_body_is_complete() {
    // Also if the body is longer than the part that is read.
    for body in [EXHAUSTED.to_owned(), format!("{EXHAUSTED}{}", " ".repeat(100_000))] {
        let (url, calls) = server(429, body.clone()).await;
        let gate = gate();
        let response = reqwest::Client::new().get(&url).send_through(&gate).await.unwrap();
        assert_eq!((response.status().as_u16(), response.url().as_str()), (429, &*url));
        let why: Option<&Error> = response.extensions().get();
        assert!(matches!(why, Some(Error::Rejected { reason: Reason::Exhausted, .. })), "{why:?}");
        assert_eq!(response.text().await.unwrap(), body);
        let counts = gate.stats().counts;
        assert_eq!((calls.load(Ordering::SeqCst), counts.exhausted, counts.throttled), (1, 1, 0));
    }
}

#[tokio::test]
async fn a_call_that_is_throttled_according_to_its_body_is_retried() {
    let (url, calls) = server(403, DRIVE.to_owned()).await;
    let gate = gate();
    let response = reqwest::Client::new().get(&url).send_through(&gate).await.unwrap();
    assert_eq!(response.text().await.unwrap(), "served");
    assert_eq!((calls.load(Ordering::SeqCst), gate.stats().counts.throttled), (2, 1));
}

#[tokio::test]
async fn a_wait_beyond_the_deadline_ends_the_call_at_once() {
    let body = r#"{"error":{"details":[{"retryDelay":"2400s"}],"status":"RESOURCE_EXHAUSTED"}}"#;
    let (url, calls) = server(429, body.to_owned()).await;
    let gate = gate();
    let layer = ThrottleLayer::new(gate.clone()).describe(
        |_: &http::Request<Full<Bytes>>, call: tidegate_tower::Call| {
            call.with_timeout(Duration::from_secs(10))
        },
    );
    let client = Client::builder(TokioExecutor::new()).build_http::<Full<Bytes>>();
    let mut service = ServiceBuilder::new().layer(layer).layer(PeekLayer::new()).service(client);
    let request = http::Request::get(&url).body(Full::default()).unwrap();
    let began = std::time::Instant::now();
    let response = service.ready().await.unwrap().call(request).await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(5));
    let wait = response.extensions().get().and_then(Error::wait);
    assert!(wait.is_some_and(|wait| wait > Duration::from_secs(2_390)), "{wait:?}");
    assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), body);
    assert_eq!(calls.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_quota_that_resets_after_the_deadline_ends_the_call_at_once() {
    const GITHUB: &str = r#"{"message":"API rate limit exceeded for user ID 12345."}"#;
    let send = |_: http::Request<Full<Bytes>>| async {
        let since_1970 = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap();
        let response = http::Response::builder().status(403);
        let response = response
            .header("content-type", "application/json")
            .header("x-ratelimit-limit", 5_000)
            .header("x-ratelimit-remaining", 0)
            .header("x-ratelimit-reset", since_1970.as_secs() + 2_400)
            .body(Full::new(Bytes::from_static(GITHUB.as_bytes())));
        Ok::<_, std::io::Error>(response.unwrap())
    };
    let gate = gate();
    let layer = ThrottleLayer::new(gate.clone()).describe(
        |_: &http::Request<Full<Bytes>>, call: tidegate_tower::Call| {
            call.with_timeout(Duration::from_secs(10))
        },
    );
    let service =
        ServiceBuilder::new().layer(layer).layer(PeekLayer::new()).service(tower::service_fn(send));
    let request = http::Request::get("http://api.example/").body(Full::default()).unwrap();
    let response = service.oneshot(request).await.unwrap();
    let why: Option<&Error> = response.extensions().get();
    assert!(matches!(why, Some(Error::Rejected { reason: Reason::Late(_), .. })), "{why:?}");
    let wait = why.and_then(Error::wait);
    assert!(wait.is_some_and(|wait| wait > Duration::from_secs(2_390)), "{wait:?}");
    assert_eq!((gate.stats().counts.admitted, gate.stats().counts.throttled), (1, 1));
}

#[tokio::test]
async fn a_graphql_api_can_throttle_with_status_200() {
    for (layer, expected) in [(PeekLayer::new(), 1), (PeekLayer::new().graphql(), 2)] {
        let (url, calls) = server(200, SHOPIFY.to_owned()).await;
        let gate = gate();
        let client = Client::builder(TokioExecutor::new()).build_http::<Full<Bytes>>();
        let throttle = ThrottleLayer::new(gate.clone());
        let mut service = ServiceBuilder::new().layer(throttle).layer(layer).service(client);
        let request = http::Request::get(&url).body(Full::default()).unwrap();
        let response = service.ready().await.unwrap().call(request).await.unwrap();
        let text = response.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(text, if expected == 1 { SHOPIFY } else { "served" });
        assert_eq!(calls.load(Ordering::SeqCst), expected);
    }
}
