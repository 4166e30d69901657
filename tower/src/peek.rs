//! Reads error bodies, and passes them on complete.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, StatusCode};
use http_body::{Body, Frame, SizeHint};
use tidegate::signal::body;
use tower_layer::Layer;
use tower_service::Service;

/// Reads the first bytes of a body, at most [`MOST_BYTES`](body::MOST_BYTES), if it may contain
/// more about the limit than the status and the headers. The result is an extension of the
/// response, which [`Standard`](crate::Standard) reads. The returned body is complete.
///
/// JSON bodies of errors are read. With `is_graphql`, JSON bodies with a status of success are read
/// too, because a GraphQL API reports a throttle with the status 200.
///
/// ```
/// # use tidegate_tower::{Classify, Standard, peek, tidegate::Reply};
/// # async fn read(response: http::Response<http_body_util::Full<bytes::Bytes>>) {
/// let response = peek(response, false).await;
/// let reply: Reply = Standard.classify(&response);
/// # }
/// ```
pub async fn peek<B>(response: http::Response<B>, is_graphql: bool) -> http::Response<Peeked<B>>
where
    B: Body<Data = Bytes> + Unpin,
{
    let is_worth = is_worth(response.status(), response.headers(), is_graphql);
    let mut response = response.map(|rest| Peeked::new(rest));
    if is_worth {
        let said = response.body_mut().read().await;
        response.extensions_mut().insert(said);
    }
    response
}

/// Whether the body of a response may contain more than its status and its headers.
pub(crate) fn is_worth(status: StatusCode, headers: &HeaderMap, is_graphql: bool) -> bool {
    let content_type = headers.get(CONTENT_TYPE).map_or(&b""[..], |it| it.as_bytes());
    let is_worth = if is_graphql { body::is_worth_of_graphql } else { body::is_worth };
    is_worth(status.as_u16(), content_type)
}

/// A complete body whose beginning was read: see [`peek`](peek()).
#[derive(Debug)]
pub struct Peeked<B: Body> {
    pub(crate) first: VecDeque<Result<Frame<B::Data>, B::Error>>,
    pub(crate) rest: B,
    pub(crate) ended: bool,
}

impl<B: Body<Data = Bytes> + Unpin> Peeked<B> {
    pub(crate) const fn new(rest: B) -> Self {
        Self { first: VecDeque::new(), rest, ended: false }
    }

    async fn read(&mut self) -> body::Body {
        let mut said = body::Body::new();
        while !said.has_ended() && !self.rest.is_end_stream() {
            let frame = poll_fn(|cx| Pin::new(&mut self.rest).poll_frame(cx)).await;
            let Some(frame) = frame else { break };
            let is_data = frame.as_ref().is_ok_and(Frame::is_data);
            if let Some(data) = frame.as_ref().ok().and_then(Frame::data_ref) {
                said.feed(data);
            }
            self.first.push_back(frame);
            if !is_data {
                break;
            }
        }
        said
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for Peeked<B>
where
    B::Error: Unpin,
{
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        match self.first.pop_front() {
            Some(frame) => Poll::Ready(Some(frame)),
            None if self.ended => Poll::Ready(None),
            None => Pin::new(&mut self.rest).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.first.is_empty() && (self.ended || self.rest.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        let data = self.first.iter().flatten().filter_map(Frame::data_ref);
        let first = data.map(|data| data.len() as u64).sum::<u64>();
        let rest = if self.ended { SizeHint::with_exact(0) } else { self.rest.size_hint() };
        let mut hint = SizeHint::new();
        if let Some(most) = rest.upper() {
            hint.set_upper(most.saturating_add(first));
        }
        hint.set_lower(rest.lower().saturating_add(first));
        hint
    }
}

/// Reads error bodies for a [`Throttle`](crate::Throttle) around it; see [`peek`](peek()). Not
/// needed for requests of reqwest.
///
/// ```
/// use bytes::Bytes;
/// use http_body_util::Full;
/// use tidegate_tower::{Gate, PeekLayer, ThrottleLayer};
/// use tower::{Service, ServiceBuilder, ServiceExt, service_fn};
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), tidegate_tower::BoxError> {
/// let client = service_fn(async |_: http::Request<String>| {
///     let text = r#"{"message":"You have exceeded a secondary rate limit."}"#; // as GitHub does
///     let response = http::Response::builder().status(403).header("content-type", "application/json");
///     response.body(Full::new(Bytes::from(text)))
/// });
/// let gate = Gate::adaptive();
/// let throttle = ThrottleLayer::new(gate.clone());
/// let mut service = ServiceBuilder::new().layer(throttle).layer(PeekLayer::new()).service(client);
/// let request = http::Request::post("http://api.example.com/").body(String::new())?;
/// let response = service.ready().await?.call(request).await?;
/// assert_eq!(response.status(), 403);
/// assert!(gate.stats().counts.throttled > 0);
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct PeekLayer {
    is_graphql: bool,
}

impl PeekLayer {
    /// Creates a layer that reads error bodies.
    #[must_use]
    pub const fn new() -> Self {
        Self { is_graphql: false }
    }

    /// Also reads JSON bodies with a status of success.
    #[must_use]
    pub const fn graphql(self) -> Self {
        Self { is_graphql: true }
    }
}

impl<S> Layer<S> for PeekLayer {
    type Service = Peek<S>;

    fn layer(&self, inner: S) -> Peek<S> {
        Peek { inner, is_graphql: self.is_graphql }
    }
}

/// A service whose error bodies are read. Created by [`PeekLayer`].
#[derive(Clone, Copy, Debug)]
pub struct Peek<S> {
    inner: S,
    is_graphql: bool,
}

impl<S, Req, B> Service<Req> for Peek<S>
where
    S: Service<Req, Response = http::Response<B>, Future: Send + 'static>,
    B: Body<Data = Bytes, Error: Send> + Send + Unpin + 'static,
    S::Error: Send + 'static,
{
    type Response = http::Response<Peeked<B>>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Req) -> Self::Future {
        let (response, is_graphql) = (self.inner.call(request), self.is_graphql);
        Box::pin(async move { Ok(peek(response.await?, is_graphql).await) })
    }
}
