//! Bodies over real sockets: the gate reads them, and the caller gets them complete.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use axum::response::Response;
use http_body_util::{BodyExt, Full};
use tidegate_tower::tidegate::Reason;
use tidegate_tower::{Error, Gate, PeekLayer, SendThrough, ThrottleLayer};
use tower::{Service, ServiceBuilder, ServiceExt};

use crate::common::{hyper, serve, unlimited};

const EXHAUSTED: &str = r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}"#;
const DRIVE: &str = r#"{"error":{"errors":[{"reason":"userRateLimitExceeded"}],"code":403}}"#;
const GOOGLE: &str =
    r#"{"error":{"details":[{"retryDelay":"2400s"}],"status":"RESOURCE_EXHAUSTED"}}"#;
const GITHUB: &str = r#"{"message":"API rate limit exceeded for user ID 12345."}"#;
const SHOPIFY: &str = r#"{"errors":[{"extensions":{"code":"THROTTLED"}}]}"#;

/// A server whose first response is this one, in chunks of seven bytes, and that serves afterwards.
/// It counts its calls.
async fn server(status: u16, headers: &[(&str, &str)], body: &str) -> (String, Arc<AtomicUsize>) {
    let own = |text: &str| text.to_owned();
    let headers: Vec<_> = headers.iter().map(|(name, value)| (own(name), own(value))).collect();
    let body = own(body);
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let answer = move || {
        let is_first = counted.fetch_add(1, Ordering::SeqCst) == 0;
        let body = if is_first { body.clone() } else { String::from("served") };
        let headers = if is_first { headers.clone() } else { Vec::new() };
        async move {
            let parts: Vec<_> = body.into_bytes().chunks(7).map(Bytes::copy_from_slice).collect();
            let parts = futures_util::stream::iter(parts.into_iter().map(Ok::<_, std::io::Error>));
            let status = StatusCode::from_u16(if is_first { status } else { 200 }).unwrap();
            let mut response = Response::builder().status(status);
            response = response.header("content-type", "application/json");
            for (name, value) in headers {
                response = response.header(name, value);
            }
            response.body(Body::from_stream(parts)).unwrap()
        }
    };
    let address = serve(Router::new().fallback(answer)).await;
    (format!("http://{address}/"), calls)
}

fn gate() -> Gate {
    Gate::new(unlimited().attempts(std::num::NonZeroU16::new(3)))
}

#[tokio::test]
async fn an_exhausted_quota_is_called_once_and_its_body_is_complete() {
    // Also if the body is longer than the part that is read.
    for body in [EXHAUSTED.to_owned(), format!("{EXHAUSTED}{}", " ".repeat(100_000))] {
        let (url, calls) = server(429, &[], &body).await;
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
    let (url, calls) = server(403, &[], DRIVE).await;
    let gate = gate();
    let response = reqwest::Client::new().get(&url).send_through(&gate).await.unwrap();
    assert_eq!(response.text().await.unwrap(), "served");
    assert_eq!((calls.load(Ordering::SeqCst), gate.stats().counts.throttled), (2, 1));
}

#[tokio::test]
async fn a_wait_beyond_the_deadline_ends_the_call_at_once() {
    let since_1970 = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap();
    let reset = (since_1970.as_secs() + 2_400).to_string();
    let spent = [("x-ratelimit-limit", "5000"), ("x-ratelimit-remaining", "0")];
    let spent = [spent[0], spent[1], ("x-ratelimit-reset", &reset)];
    // In the body, or in the headers if the body says that the quota is used up.
    for (status, headers, body) in [(429, &[][..], GOOGLE), (403, &spent[..], GITHUB)] {
        let (url, calls) = server(status, headers, body).await;
        let gate = gate();
        let layer = ThrottleLayer::new(gate.clone()).describe(
            |_: &http::Request<Full<Bytes>>, call: tidegate_tower::Call| {
                call.with_timeout(Duration::from_secs(10))
            },
        );
        let service = ServiceBuilder::new().layer(layer).layer(PeekLayer::new()).service(hyper());
        let request = http::Request::get(&url).body(Full::default()).unwrap();
        let response = service.oneshot(request).await.unwrap();
        let why: Option<&Error> = response.extensions().get();
        assert!(matches!(why, Some(Error::Rejected { reason: Reason::Late(_), .. })), "{why:?}");
        let wait = why.and_then(Error::wait);
        assert!(wait.is_some_and(|wait| wait > Duration::from_secs(2_390)), "{wait:?}");
        assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), body);
        assert_eq!((calls.load(Ordering::SeqCst), gate.stats().counts.throttled), (1, 1));
    }
}

#[tokio::test]
async fn a_graphql_api_can_throttle_with_status_200() {
    for (layer, expected) in [(PeekLayer::new(), 1), (PeekLayer::new().graphql(), 2)] {
        let (url, calls) = server(200, &[], SHOPIFY).await;
        let gate = gate();
        let throttle = ThrottleLayer::new(gate.clone());
        let mut service = ServiceBuilder::new().layer(throttle).layer(layer).service(hyper());
        let request = http::Request::get(&url).body(Full::default()).unwrap();
        let response = service.ready().await.unwrap().call(request).await.unwrap();
        let text = response.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(text, if expected == 1 { SHOPIFY } else { "served" });
        assert_eq!(calls.load(Ordering::SeqCst), expected);
    }
}
