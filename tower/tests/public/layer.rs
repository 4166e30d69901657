//! The layer with hyper's client, against a real server.

use std::time::Duration;

use axum::body::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use tidegate_tower::tidegate::{Outcome, Policy, Reason, Reply, Span};
use tidegate_tower::{BoxError, Call, Describe, Error, Gate, Repeat, Standard, ThrottleLayer};
use tower::{Layer, Service, ServiceBuilder, ServiceExt};

use crate::common::{Limit, Server, concurrently, hyper as client, nowhere, per_minute, unlimited};

fn request(method: Method, uri: String, body: &str) -> Request<Full<Bytes>> {
    Request::builder().method(method).uri(uri).body(Full::new(body.to_owned().into())).unwrap()
}

async fn text<B: axum::body::HttpBody>(response: http::Response<B>) -> String
where
    B::Error: std::fmt::Debug,
{
    let body = response.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8_lossy(&body).into_owned()
}

#[tokio::test]
async fn a_call_that_waits_for_the_end_of_a_cooldown_is_sent_when_its_key_is_reset() {
    let server = Server::start(Limit::NONE).await;
    let month = Span::from_secs(30 * 86_400);
    let gate = Gate::new(Policy::adaptive().ceiling(month).unwrap());
    let service = ThrottleLayer::new(gate.clone()).layer(client());
    let two_weeks = request(Method::GET, server.url("/throttled-once/1209600"), "");
    let call = tokio::spawn(service.oneshot(two_weeks));
    while (gate.stats().counts.throttled, gate.stats().waiting) != (1, 1) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let key = server.address.to_string();
    assert!(gate.key(&key).peek().unwrap() > Duration::from_secs(1_209_000));
    gate.reset("another");
    gate.reset(&key);
    assert_eq!(call.await.unwrap().unwrap().status(), 200);
}

#[test]
fn the_future_of_a_call_holds_a_request_and_its_copy_and_two_while_it_is_sent() {
    type Large = Request<[u8; 1 << 14]>;
    let inner = tower::service_fn(|_: Large| async {
        Ok::<_, std::io::Error>(http::Response::new(Full::<Bytes>::default()))
    });
    let repeat = |request: &mut Large| Some(request.clone());
    let mut service = ThrottleLayer::new(Gate::adaptive()).repeat(repeat).layer(inner);
    let call = service.call(Request::new([0; 1 << 14]));
    assert!(size_of_val(&*call) < 5 * size_of::<Large>(), "{}", size_of_val(&*call));
}

#[tokio::test]
async fn a_request_is_repeated_only_if_it_is_idempotent_and_otherwise_the_response_says_why() {
    let repeated = async |request: fn(String) -> Request<Full<Bytes>>, path: &str| {
        let server = Server::start(Limit::NONE).await;
        let policy = unlimited().attempts(std::num::NonZeroU16::new(3));
        let mut service = ThrottleLayer::new(Gate::new(policy)).layer(client());
        let response = service.call(request(server.url(path))).await.unwrap();
        let why = match response.extensions().get() {
            Some(Error::Rejected { reason, .. }) => Some(*reason),
            _ => None,
        };
        (response.status().as_u16(), server.seen(|seen| seen.methods.len()), why)
    };
    let (spent, unsafe_to) = (Some(Reason::Attempts), Some(Reason::Unsafe));
    let get = |uri| request(Method::GET, uri, "");
    let post = |uri| request(Method::POST, uri, "");
    let keyed = |uri| {
        let mut request = request(Method::POST, uri, "");
        request.headers_mut().insert("idempotency-key", "7".parse().unwrap());
        request
    };
    assert_eq!(repeated(get, "/status/503").await, (503, 3, spent));
    assert_eq!(repeated(get, "/status/500").await, (500, 3, spent));
    assert_eq!(repeated(get, "/status/404").await, (404, 1, None));
    assert_eq!(repeated(get, "/throttled-once").await, (200, 2, None));
    // A server that throttles a request has not served it.
    assert_eq!(repeated(post, "/throttled-once").await, (200, 2, None));
    assert_eq!(repeated(post, "/status/429").await, (429, 3, spent));
    assert_eq!(repeated(post, "/status/503").await, (503, 1, unsafe_to));
    assert_eq!(repeated(post, "/status/500").await, (500, 1, unsafe_to));
    assert_eq!(repeated(post, "/status/500?true").await, (500, 3, spent));
    assert_eq!(repeated(post, "/status/404?true").await, (404, 1, None));
    assert_eq!(repeated(get, "/status/500?false").await, (500, 1, Some(Reason::Final)));
    assert_eq!(repeated(keyed, "/throttled-once").await, (200, 2, None));
    assert_eq!(repeated(keyed, "/status/500").await, (500, 3, spent));
}

#[tokio::test]
async fn a_permit_ends_with_the_body_or_with_the_headers() {
    let server = Server::start(Limit::NONE).await;
    let stream = || request(Method::GET, server.url("/stream"), "");
    let gate = Gate::new(concurrently(1));
    let layer = ThrottleLayer::new(gate.clone());
    let mut service = layer.clone().layer(client());

    let first = service.call(stream()).await.unwrap();
    assert_eq!(gate.stats().in_flight, 1);
    let (second, first) = tokio::join!(service.call(stream()), text(first));
    assert_eq!(first, "part;part;part;");
    assert_eq!(server.seen(|seen| seen.most_in_flight), 1);
    drop(second.unwrap()); // not read to its end
    assert_eq!((gate.stats().in_flight, gate.stats().counts.ok), (0, 2));

    let mut service = layer.until_headers().layer(client());
    let first = service.call(stream()).await.unwrap();
    assert_eq!(gate.stats().in_flight, 0);
    let second = service.call(stream()).await.unwrap();
    assert_eq!((text(first).await, text(second).await.len()), ("part;part;part;".into(), 15));
}

#[tokio::test]
async fn a_truncated_body_frees_its_place() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        assert!(socket.read(&mut [0; 4_096]).await.unwrap() > 0);
        socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf").await.unwrap();
    });
    let gate = Gate::new(concurrently(1));
    let mut service = ThrottleLayer::new(gate.clone()).layer(client());
    let response = service.call(request(Method::GET, url, "")).await.unwrap();
    assert_eq!((gate.stats().in_flight, gate.stats().counts.ok), (1, 1)); // learnt from its headers
    assert!(response.into_body().collect().await.is_err());
    assert_eq!((gate.stats().in_flight, gate.stats().counts.ok), (0, 1));
}

#[tokio::test]
async fn a_ready_service_that_is_not_called_holds_no_permit() {
    let server = Server::start(Limit::NONE).await;
    let gate = Gate::new(concurrently(1));
    let inner = ServiceBuilder::new().concurrency_limit(1).service(client());
    let service = ThrottleLayer::new(gate.clone()).layer(inner);
    let mut idle: Vec<_> = (0..10).map(|_| service.clone()).collect();
    for service in &mut idle {
        service.ready().await.unwrap();
    }
    assert_eq!(gate.stats().in_flight, 0);
    // Neither does a call whose future is dropped at any stage.
    for wait in 0..10 {
        let call = service.clone().oneshot(request(Method::GET, server.url("/stream"), ""));
        let _ = tokio::time::timeout(Duration::from_millis(2 * wait), call).await;
    }
    assert_eq!((gate.stats().in_flight, gate.stats().waiting), (0, 0));
    let response = service.oneshot(request(Method::GET, server.url("/"), "done")).await.unwrap();
    assert_eq!(text(response).await, "done");
}

#[tokio::test]
async fn the_host_is_the_key_unless_a_function_returns_another() {
    let (one, two) = (Server::start(Limit::NONE).await, Server::start(Limit::NONE).await);
    let gate = Gate::new(unlimited());
    let mut service = ThrottleLayer::new(gate.clone()).layer(client());
    for server in [&one, &two, &one] {
        service.call(request(Method::GET, server.url("/"), "")).await.unwrap();
    }
    let keys: Vec<_> = gate.snapshot().into_keys().collect();
    let mut hosts = [one.address.to_string(), two.address.to_string()];
    hosts.sort();
    assert_eq!(keys, hosts);

    let gate = Gate::new(unlimited());
    let by_path = |request: &Request<Full<Bytes>>, call: Call| {
        let path = request.uri().path().to_owned();
        Standard.describe(request, call).key(path)
    };
    let mut service = ThrottleLayer::new(gate.clone()).describe(by_path).layer(client());
    for path in ["/a", "/b", "/a"] {
        service.call(request(Method::GET, one.url(path), "")).await.unwrap();
    }
    assert!(gate.snapshot().keys().eq(["/a", "/b"]));
}

#[tokio::test]
async fn functions_can_classify_responses_and_copy_requests() {
    let server = Server::start(Limit::NONE).await;
    let policy = unlimited().attempts(std::num::NonZeroU16::new(4));
    let gate = Gate::new(policy);
    let only_short = |request: &mut Request<Full<Bytes>>| {
        if request.uri().path().len() < 20 { Standard.repeat(request) } else { None }
    };
    // An API that throttles with a 404.
    let odd = |result: &Result<http::Response<hyper::body::Incoming>, _>| -> Reply {
        match result {
            Ok(response) if response.status() == 404 => Outcome::Throttled.into(),
            Ok(_) => Outcome::Ok.into(),
            Err(_) => Outcome::Failed.into(),
        }
    };
    let layer = ThrottleLayer::new(gate.clone()).repeat(only_short).classify(odd);
    let mut service = layer.layer(client());
    service.call(request(Method::GET, server.url("/status/404"), "")).await.unwrap();
    assert_eq!(server.seen(|seen| seen.methods.len()), 4);
    service
        .call(request(
            Method::GET,
            server.url("/status/404?").replace("404", "000000000000404"),
            "",
        ))
        .await
        .unwrap();
    assert_eq!(server.seen(|seen| seen.methods.len()), 5);
    assert_eq!(gate.stats().counts.throttled, 5);
}

#[tokio::test]
async fn unsent_and_failed_calls_return_their_errors() {
    let hasty = |request: &Request<Full<Bytes>>, call: Call| {
        Standard.describe(request, call).with_timeout(Duration::from_secs(5)).once()
    };
    let service = ThrottleLayer::new(Gate::new(per_minute(1))).describe(hasty).layer(client());
    let url = nowhere();
    let call = || service.clone().oneshot(request(Method::GET, url.clone(), ""));
    let failed: BoxError = call().await.unwrap_err();
    let error = failed.downcast_ref::<hyper_util::client::legacy::Error>().unwrap();
    assert!(error.is_connect());
    let rejected = call().await.unwrap_err();
    let error = rejected.downcast_ref::<Error>().unwrap();
    assert!(error.wait().unwrap() > Duration::from_secs(50), "{error}");
    assert!(url.contains(error.key()));
}
