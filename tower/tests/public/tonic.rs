//! tonic's channel with a gate, as in the example `health`, against a real gRPC server.

#[allow(dead_code, reason = "the example's own start")]
#[path = "../../examples/health.rs"]
mod health;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use health::client;
use tidegate_limits::Limit;
use tidegate_tower::tidegate::{Hint, Outcome, Reply, Span};
use tidegate_tower::{BoxError, Classify, Gate, Grpc, Standard};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tonic::metadata::MetadataValue;
use tonic::transport::{Channel, Endpoint, Server};
use tonic::{Code, Request, Status};
use tonic_health::pb::HealthCheckRequest;
use tonic_types::{
    DebugInfo, ErrorDetail, ErrorDetails, ErrorInfo, QuotaFailure, RetryInfo, StatusExt,
};

use crate::common::{bucket, concurrently, nanos_since, unlimited};

/// The form of a rejection's delay.
#[derive(Clone, Copy, PartialEq)]
enum Says {
    Nothing,
    Pushback,
    RetryInfo,
    Never,
}

/// How many calls there were, and how many were rejected.
type Seen = (u32, u32);

/// A health service that allows this burst, and 50 calls a second.
async fn serve(burst: u64, code: Code, says: Says) -> (Channel, Arc<Mutex<Seen>>) {
    let seen = Arc::new(Mutex::new(Seen::default()));
    let (count, opened) = (seen.clone(), Instant::now());
    let bucket = Arc::new(Mutex::new(bucket(50, burst)));
    let limit = move |request: Request<()>| {
        let mut seen = count.lock().unwrap();
        seen.0 += 1;
        if bucket.lock().unwrap().take(nanos_since(opened), 1) {
            return Ok(request);
        }
        seen.1 += 1;
        let mut status = Status::new(code, "over the limit");
        match says {
            Says::Nothing => {}
            Says::RetryInfo => {
                let details = ErrorDetails::with_retry_info(Some(Duration::from_millis(40)));
                status = Status::with_error_details(code, "over the limit", details);
            }
            Says::Pushback | Says::Never => {
                let pushback = if says == Says::Never { "-1" } else { "40" };
                let value = MetadataValue::from_static(pushback);
                status.metadata_mut().insert("grpc-retry-pushback-ms", value);
            }
        }
        Err(status)
    };
    let (_, health) = tonic_health::server::health_reporter();
    let service = tonic::service::interceptor::InterceptedService::new(health, limit);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let incoming = tonic::transport::server::TcpIncoming::from(listener);
    tokio::spawn(Server::builder().add_service(service).serve_with_incoming(incoming));
    let endpoint = Endpoint::from_shared(format!("http://{address}")).unwrap();
    (endpoint.connect().await.unwrap(), seen)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_on_a_channel_are_paced_and_retried() {
    for says in [Says::Nothing, Says::Pushback, Says::RetryInfo] {
        let (channel, seen) = serve(10, Code::ResourceExhausted, says).await;
        let gate = Gate::adaptive();
        let mut tasks = JoinSet::new();
        for _ in 0..60 {
            let mut client = client(&gate, channel.clone());
            tasks.spawn(async move { client.check(HealthCheckRequest::default()).await });
        }
        while let Some(done) = tasks.join_next().await {
            assert_eq!(done.unwrap().unwrap().get_ref().status, 1);
        }
        let (calls, rejected) = *seen.lock().unwrap();
        let stats = gate.stats();
        assert_eq!((calls - rejected, stats.counts.ok), (60, 60));
        assert_eq!(stats.counts.throttled, rejected);
        assert!(rejected > 0);
        assert_eq!((stats.in_flight, stats.waiting), (0, 0));
    }
}

#[tokio::test]
async fn pushbacks_and_retry_delays_of_the_server_are_respected() {
    // How long nothing is sent after one rejection.
    let wait = async |code, says| {
        let (channel, seen) = serve(0, code, says).await;
        let gate = Gate::new(unlimited().attempts(std::num::NonZeroU16::new(2)));
        let begun = Instant::now();
        let result = client(&gate, channel).check(HealthCheckRequest::default()).await;
        (result.is_ok(), seen.lock().unwrap().0, begun.elapsed())
    };
    for says in [Says::Pushback, Says::RetryInfo] {
        let (_, calls, took) = wait(Code::Unavailable, says).await;
        assert_eq!(calls, 2);
        assert!(took >= Duration::from_millis(40), "{took:?}");
    }
    assert_eq!(wait(Code::ResourceExhausted, Says::Never).await.1, 1);
    // Another attempt would not help, or might repeat the effect.
    assert_eq!(wait(Code::InvalidArgument, Says::Nothing).await.1, 1);
    assert_eq!(wait(Code::Internal, Says::Nothing).await.1, 1);
}

#[test]
fn a_delay_written_by_tonic_is_found_among_any_details() {
    let delays = [0, 1, 999_999_999, 1_000_000_000, 30_500_000_000, 86_400_000_000_000];
    for delay in delays.map(Duration::from_nanos) {
        let info: ErrorDetail = RetryInfo::new(Some(delay)).into();
        let others: [ErrorDetail; 4] = [
            ErrorInfo::new(
                "RATE_LIMIT_EXCEEDED",
                "example.com",
                [("quota".into(), "9".repeat(300))],
            )
            .into(),
            QuotaFailure::with_violation("project:7", "a minute's reads").into(),
            RetryInfo::new(None).into(),
            DebugInfo::new(["a".into(), "b".into()], "over").into(),
        ];
        for place in 0..=others.len() {
            let mut details = others.to_vec();
            details.insert(place, info.clone());
            let status = Status::with_error_details_vec(Code::Unavailable, "busy", details);
            let expected = Hint::retry_after(delay.into());
            let reply: Reply = Standard.classify(&status);
            assert_eq!(reply, Outcome::Busy.with(expected));
            // As sent over the wire.
            let reply: Reply = Standard.classify(&status.into_http::<()>());
            assert_eq!(reply, Outcome::Busy.with(expected));
        }
    }
}

#[test]
fn a_delay_in_the_metadata_is_found_where_the_details_have_none() {
    let expected = Outcome::Throttled.with(Hint::retry_after(Span::from_secs(5)));
    let mut status = Status::new(Code::ResourceExhausted, "over the limit");
    status.metadata_mut().insert("retry-after", MetadataValue::from_static("5"));
    let reply: Reply = Standard.classify(&status);
    assert_eq!(reply, expected);
    let reply: Reply = Standard.classify(&status.into_http::<()>());
    assert_eq!(reply, expected);
}

#[tokio::test]
async fn a_stream_keeps_its_place_until_it_ends() {
    let (channel, _) = serve(100, Code::ResourceExhausted, Says::Nothing).await;
    let gate = Gate::new(concurrently(2));
    let mut client = client(&gate, channel);
    let stream = client.watch(HealthCheckRequest::default()).await.unwrap();
    assert_eq!(gate.stats().in_flight, 1);
    let mut stream = stream.into_inner();
    assert_eq!(stream.message().await.unwrap().unwrap().status, 1);
    assert_eq!(gate.stats().in_flight, 1);
    client.check(HealthCheckRequest::default()).await.unwrap();
    assert_eq!(gate.stats().in_flight, 1);
    drop(stream);
    assert_eq!((gate.stats().in_flight, gate.stats().counts.ok), (0, 2));
    // An unknown service is an answer, in a response without a body.
    let unknown = HealthCheckRequest { service: "unknown".into() };
    let status = client.check(unknown).await.unwrap_err();
    assert_eq!(status.code(), Code::NotFound);
    assert_eq!((gate.stats().in_flight, gate.stats().counts.ok), (0, 3));
}

#[tokio::test]
async fn a_streaming_request_is_sent_once_and_completely() {
    use http_body_util::{BodyExt, StreamBody};
    use tidegate_tower::Repeat;
    use tonic::body::Body;
    use tonic::codegen::Bytes;
    let frames = |late: bool| {
        let mut sent = 0;
        let stream = futures_util::stream::poll_fn(move |cx| {
            sent += 1;
            match sent {
                2 if late => {
                    cx.waker().wake_by_ref();
                    std::task::Poll::Pending
                }
                1..=3 => {
                    let data = http_body::Frame::data(Bytes::from_static(b"part;"));
                    std::task::Poll::Ready(Some(Ok::<_, BoxError>(data)))
                }
                _ => std::task::Poll::Ready(None),
            }
        });
        http::Request::new(Body::new(StreamBody::new(stream)))
    };
    let text = async |request: http::Request<Body>| {
        request.into_body().collect().await.unwrap().to_bytes()
    };
    let mut whole = frames(false);
    let mut copy = Grpc.repeat(&mut whole).unwrap();
    let second = Grpc.repeat(&mut copy).unwrap();
    for request in [whole, copy, second] {
        assert_eq!(text(request).await, "part;part;part;");
    }
    let mut streamed = frames(true);
    assert!(Grpc.repeat(&mut streamed).is_none());
    assert_eq!(text(streamed).await, "part;part;");
}
