//! tonic: its requests, responses and statuses.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use ::tonic::body::Body;
use ::tonic::{Response, Status};
use bytes::Bytes;
use http::Request;
use http_body::{Body as _, Frame};
use tidegate::signal::grpc;
use tidegate::{Outcome, Reply};

use crate::call::Call;
use crate::classify::{Classify, Responses, Standard};
use crate::gate::Gate;
use crate::layer::ThrottleLayer;
use crate::peek::Peeked;
use crate::request::{Describe, Repeat};
use crate::timer::Timer;

/// Describes and repeats the requests of a tonic client, for [`ThrottleLayer::grpc`].
///
/// The key is the request's authority. tonic adds it only inside the channel, so usually all calls of a gate share one
/// limit. A call is repeated after `RESOURCE_EXHAUSTED` and `UNAVAILABLE` if its request is complete when it is sent,
/// as for unary calls. A stream is sent once.
///
/// ```
/// use tidegate_tower::{Call, Describe, Gate, Grpc, ThrottleLayer};
/// use tonic::body::Body;
///
/// // Calls that may be made twice are also repeated after other failures.
/// let reads = |request: &http::Request<Body>, call: Call| {
///     let call = Grpc.describe(request, call);
///     if request.uri().path().contains("/Get") { call.idempotent() } else { call }
/// };
/// let layer = ThrottleLayer::grpc(Gate::adaptive()).describe(reads);
/// # let _ = layer;
/// ```
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Grpc;

impl<const LIMITS: usize, T: Timer> ThrottleLayer<LIMITS, T, Grpc, Grpc, Responses> {
    /// Creates a layer around a tonic channel. Each call of a client is a call at this gate.
    ///
    /// ```no_run
    /// use tidegate_tower::{Gate, ThrottleLayer};
    /// use tonic::transport::Endpoint;
    /// use tower::ServiceBuilder;
    ///
    /// # async fn example() -> Result<(), tonic::transport::Error> {
    /// let channel = Endpoint::from_static("http://[::1]:50051").connect().await?;
    /// let throttle = ThrottleLayer::grpc(Gate::adaptive());
    /// let channel = ServiceBuilder::new().layer(throttle).service(channel);
    /// let client = tonic_health::pb::health_client::HealthClient::new(channel);
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn grpc(gate: Gate<LIMITS, T>) -> Self {
        ThrottleLayer::new(gate).describe(Grpc).repeat(Grpc)
    }
}

impl<B, const LIMITS: usize, T: Timer> Describe<Request<B>, LIMITS, T> for Grpc {
    fn describe(&self, request: &Request<B>, call: Call<LIMITS, T>) -> Call<LIMITS, T> {
        match request.uri().authority() {
            Some(authority) => call.or_key(authority.as_str()),
            None => call,
        }
    }
}

impl Repeat<Request<Body>> for Grpc {
    fn repeat(&self, request: &mut Request<Body>) -> Option<Request<Body>> {
        let body = begun(std::mem::take(request.body_mut()));
        let copy = body.ended.then(|| copy_of(&body)).flatten();
        *request.body_mut() = Body::new(body);
        let copy = Body::new(copy?);
        crate::request::copy(request, |_| Some(copy))
    }
}

/// A request with more data than this is not kept, and not repeated.
const MOST: usize = 1 << 20;

/// Reads the data that is available at once. Other data is polled again when it is sent.
fn begun(body: Body) -> Peeked<Body> {
    let (mut body, mut length) = (Peeked::new(body), 0);
    let mut cx = Context::from_waker(Waker::noop());
    while length <= MOST
        && let Poll::Ready(frame) = Pin::new(&mut body.rest).poll_frame(&mut cx)
    {
        let Some(frame) = frame else {
            body.ended = true;
            break;
        };
        let data = frame.as_ref().ok().and_then(Frame::data_ref);
        length += data.map_or(MOST + 1, Bytes::len);
        body.first.push_back(frame);
    }
    body
}

fn copy_of(body: &Peeked<Body>) -> Option<Peeked<Body>> {
    let copy = |frame: &Result<Frame<Bytes>, Status>| {
        frame.as_ref().ok()?.data_ref().cloned().map(|data| Ok(Frame::data(data)))
    };
    let first = body.first.iter().map(copy).collect::<Option<_>>()?;
    Some(Peeked { first, rest: Body::empty(), ended: true })
}

/// The call was served.
impl<R, const LIMITS: usize> Classify<Response<R>, LIMITS> for Standard {
    fn classify(&self, _: &Response<R>) -> Reply<LIMITS> {
        Outcome::Ok.into()
    }
}

/// By its code, `grpc-retry-pushback-ms`, `RetryInfo` and `retry-after`.
impl<const LIMITS: usize> Classify<Status, LIMITS> for Standard {
    fn classify(&self, status: &Status) -> Reply<LIMITS> {
        let value = |name| status.metadata().get(name).map(|value| value.as_encoded_bytes());
        let delay = grpc::retry_delay(status.details());
        let code = i32::from(status.code()).unsigned_abs();
        crate::grpc::read(code, status.message().as_bytes(), delay, value)
    }
}
