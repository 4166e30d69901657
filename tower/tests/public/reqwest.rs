//! reqwest with a gate, against a real server: manually, with the helper, as a service and as a
//! middleware.

use std::num::NonZeroU16;
use std::time::Duration;

use crate::common::{Limit, Server, concurrently, nowhere, per_minute, unlimited};
use futures_util::{TryStreamExt, future::join_all, stream};
use reqwest_middleware::ClientBuilder;
use tidegate_tower::tidegate::Reason;
use tidegate_tower::{Error, Gate, SendError, SendThrough, ThrottleLayer};
use tower::{Layer, ServiceExt};

#[tokio::test]
async fn each_way_to_send_is_paced_retried_and_reads_hints() {
    let client = reqwest::Client::new();
    for way in ["run", "send_through", "service", "middleware"] {
        let server = Server::start(Limit::per_second(100, 5)).await;
        let gate = Gate::adaptive();
        let throttle = ThrottleLayer::new(gate.clone());
        let wrapped = ClientBuilder::new(client.clone()).with(throttle.clone()).build();
        let send = async |number: usize| {
            let url = server.url(&format!("/{number}"));
            let response = match way {
                "run" => gate.run(|| client.get(&url).send()).await.unwrap().unwrap(),
                "send_through" => client.get(&url).send_through(&gate).await.unwrap(),
                "service" => {
                    let request = client.get(&url).build().unwrap();
                    throttle.layer(client.clone()).oneshot(request).await.unwrap()
                }
                _ => wrapped.get(&url).send().await.unwrap(),
            };
            assert_eq!(response.status(), 200, "{way}");
            assert_eq!(response.url().as_str(), url, "{way}");
            response.bytes().await.unwrap();
        };
        join_all((0..40).map(send)).await;
        let (served, rejected) = server.seen(|seen| (seen.served.len(), seen.rejected));
        let counts = gate.stats().counts;
        assert_eq!((served, counts.ok), (40, 40), "{way}");
        assert_eq!(counts.throttled as usize, rejected, "{way}");
        assert!(rejected > 0, "{way}: the limit was never reached");
    }
}

#[tokio::test]
async fn a_response_keeps_its_place_until_its_body_is_read() {
    let server = Server::start(Limit::NONE).await;
    let (gate, client) = (Gate::new(concurrently(1)), reqwest::Client::new());
    let get = || client.get(server.url("/stream")).send_through(&gate);
    let mut first = get().await.unwrap();
    assert!(first.remote_addr().is_some());
    let rest = async {
        let mut length = 0;
        while let Some(chunk) = first.chunk().await.unwrap() {
            assert_eq!(gate.stats().in_flight, 1);
            length += chunk.len();
        }
        length
    };
    let (length, second) = tokio::join!(rest, get());
    assert_eq!((length, second.unwrap().text().await.unwrap().len()), (15, 15));
    assert_eq!(server.seen(|seen| seen.most_in_flight), 1);
    assert_eq!(gate.stats().in_flight, 0);
}

#[tokio::test]
async fn a_failed_post_is_sent_once_and_errors_say_what_happened() {
    let server = Server::start(Limit::NONE).await;
    let client = reqwest::Client::new();
    let gate = Gate::new(per_minute(1));
    let post = || client.post(server.url("/status/500")).body("7");
    let response = post().send_through(&gate).await.unwrap();
    assert_eq!(response.status(), 500);
    let why = response.extensions().get();
    assert!(matches!(why, Some(Error::Rejected { reason: Reason::Unsafe, .. })), "{why:?}");
    assert_eq!(server.seen(|seen| seen.methods.len()), 1);

    // Only a throttled one may be repeated, but its body is a stream.
    for (status, told) in [(429, "copied"), (500, "not idempotent"), (503, "not idempotent")] {
        let empty = stream::empty::<Result<_, std::io::Error>>()
            .map_ok(http_body::Frame::<bytes::Bytes>::data);
        let body = reqwest::Body::wrap(http_body_util::StreamBody::new(empty));
        let post = client.post(server.url(&format!("/status/{status}"))).body(body);
        let response = post.send_through(Gate::new(unlimited())).await.unwrap();
        let why = response.extensions().get::<Error>().unwrap().to_string();
        assert!(why.contains(told), "{status}: {why}");
    }

    let once = Gate::new(unlimited()).call().once();
    let response = client.get(server.url("/status/500")).send_through(once).await.unwrap();
    let why = response.extensions().get();
    assert!(matches!(why, Some(Error::Rejected { reason: Reason::Attempts, .. })), "{why:?}");

    let url = nowhere();
    let twice = unlimited().attempts(NonZeroU16::new(2));
    let lost = client.get(url).send_through(&Gate::new(twice)).await.unwrap_err();
    let SendError::Failed { error, gave_up: Some(Error::Rejected { reason, .. }) } = &lost else {
        panic!("{lost}")
    };
    assert!(error.is_connect() && *reason == Reason::Attempts, "{lost}");

    let broken = client.get("no address").send_through(&gate).await.unwrap_err();
    assert!(matches!(&broken, SendError::Failed { error, .. } if error.is_builder()), "{broken}");

    // Explicit options of the call are kept.
    let gate = Gate::new(per_minute(1));
    let mine = || gate.key("mine").idempotent().with_timeout(Duration::from_secs(5));
    let response = post().send_through(mine()).await.unwrap();
    let why = response.extensions().get().unwrap();
    assert!(matches!(why, Error::Rejected { reason: Reason::Late(_), .. }), "{why}");
    let late = post().send_through(mine()).await.unwrap_err();
    assert!(matches!(&late, SendError::NotSent(error) if error.key() == "mine"), "{late}");

    // The first call need not wait.
    let gate = Gate::builder(per_minute(1)).queue(0).build();
    drop(post().send_through(&gate).await.unwrap());
    let full = post().send_through(&gate).await.unwrap_err();
    assert!(matches!(full, SendError::NotSent(Error::Rejected { .. })), "{full}");
    let client = ClientBuilder::new(client).with(ThrottleLayer::new(gate)).build();
    let full = client.get(server.url("/")).send().await.unwrap_err();
    let reqwest_middleware::Error::Middleware(full) = full else { panic!("{full}") };
    assert!(full.downcast_ref::<Error>().is_some(), "{full}");
}
