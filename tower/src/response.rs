//! Reads a response, and wraps its body, which keeps the permit until it ends.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Buf;
use http::header::CONTENT_TYPE;
use http::{Extensions, HeaderMap, StatusCode};
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use tidegate::signal::body::{self, Usage};
use tidegate::signal::http::{Answer, Reading};
use tidegate::{Outcome, Reply};

use crate::classify::{Classify, Standard};
use crate::drive::Guard;
use crate::error::Error;
use crate::grpc;
use crate::timer::{Timer, Tokio};

/// Reads the outcome and the server's limits from an HTTP response.
///
/// ```
/// use http::{HeaderMap, StatusCode};
/// use tidegate_tower::{read, tidegate::{Outcome, Span}};
///
/// let headers = HeaderMap::from_iter([(http::header::RETRY_AFTER, "120".parse().unwrap())]);
/// let answer = read(StatusCode::TOO_MANY_REQUESTS, &headers);
/// assert_eq!(answer.outcome, Outcome::Throttled);
/// assert_eq!(answer.hint.retry_after, Some(Span::from_secs(120)));
/// ```
#[must_use]
pub fn read(status: StatusCode, headers: &HeaderMap) -> Answer {
    read_with(status, headers, &Extensions::new())
}

/// The same, including the information from a [`peek`](crate::peek())ed body.
pub(crate) fn read_with(status: StatusCode, headers: &HeaderMap, kept: &Extensions) -> Answer {
    let mut reading = Reading::new(status.as_u16());
    for (name, value) in headers {
        reading.header(name.as_str(), value.as_bytes());
    }
    if let Some(said) = kept.get::<body::Body>() {
        reading.body(said);
    }
    reading.finish(since_1970())
}

/// For dates in a response without `Date`. std for wasm32 has no such clock.
pub(crate) fn since_1970() -> Option<tidegate::Span> {
    #[cfg(not(target_family = "wasm"))]
    {
        use std::time::SystemTime;
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok().map(crate::timer::span)
    }
    #[cfg(all(target_family = "wasm", feature = "js"))]
    return Some(crate::js::since_1970());
    #[cfg(all(target_family = "wasm", not(feature = "js")))]
    None
}

/// A gRPC response by its `grpc-status`, any other by [`read`] and the information of
/// [`peek`](crate::peek()).
impl<B, const LIMITS: usize> Classify<http::Response<B>, LIMITS> for Standard {
    fn classify(&self, response: &http::Response<B>) -> Reply<LIMITS> {
        grpc::reply(response.headers()).unwrap_or_else(|| {
            read_with(response.status(), response.headers(), response.extensions()).into()
        })
    }
}

/// A response that can keep the permit of its call until its body ends.
///
/// It is implemented for the responses of `http` and `reqwest`, for [`Throttle`](crate::Throttle).
/// For your own type without a body, drop the guard:
///
/// ```
/// use tidegate_tower::{Guard, Hold, Timer};
///
/// struct Quote(u32);
///
/// impl<T: Timer> Hold<1, T> for Quote {
///     type Held = Self;
///
///     fn hold(self, guard: Option<Guard<1, T>>) -> Self {
///         drop(guard);
///         self
///     }
/// }
/// ```
pub trait Hold<const LIMITS: usize = 1, T: Timer = Tokio>: Sized {
    /// The response with the guard in it.
    type Held;

    /// Keeps the guard, which ends the call when it is dropped. `None` if the call has already
    /// ended.
    fn hold(self, guard: Option<Guard<LIMITS, T>>) -> Self::Held;

    /// Stores the reason why a call that the server did not serve is not retried. A response of `http` or `reqwest`
    /// stores it as an extension. Does nothing by default.
    fn gave_up(&mut self, why: Error) {
        let _ = why;
    }
}

impl<B: Body, const LIMITS: usize, T: Timer> Hold<LIMITS, T> for http::Response<B> {
    type Held = http::Response<Guarded<B, Guard<LIMITS, T>>>;

    fn hold(self, mut guard: Option<Guard<LIMITS, T>>) -> Self::Held {
        if let Some(guard) = &mut guard
            && !self.body().is_end_stream()
            && !grpc::ends_later(self.headers())
        {
            guard.learn();
        }
        let content_type = self.headers().get(CONTENT_TYPE).filter(|_| LIMITS > 1);
        let is_stream = content_type.is_some_and(|it| body::is_stream(it.as_bytes()));
        let usage = is_stream.then(Usage::new);
        self.map(|body| Guarded { usage, ..Guarded::new(body, guard) })
    }

    fn gave_up(&mut self, why: Error) {
        self.extensions_mut().insert(why);
    }
}

pin_project! {
    /// A body that ends its call when it ends, fails or is dropped.
    ///
    /// The gate has already learned from the response. A gRPC response is the exception: its trailers contain the
    /// outcome, and if its body fails, the call failed. If there are several limits, the tokens that a stream of
    /// server-sent events reports are the cost of its call for the limits beyond the first.
    #[derive(Debug)]
    pub struct Guarded<B, G = Guard> {
        #[pin]
        body: B,
        guard: Option<G>,
        usage: Option<Usage>,
    }
}

impl<B: Body, const LIMITS: usize, T: Timer> Guarded<B, Guard<LIMITS, T>> {
    /// Wraps a body with the guard of its call. If the body has already ended, the call ends here.
    pub fn new(body: B, guard: Option<Guard<LIMITS, T>>) -> Self {
        let guard = guard.filter(|_| !body.is_end_stream());
        Self { body, guard, usage: None }
    }
}

impl<B: Body, const LIMITS: usize, T: Timer> Body for Guarded<B, Guard<LIMITS, T>> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let mut this = self.project();
        let frame = ready!(this.body.as_mut().poll_frame(cx));
        let trailers = match &frame {
            Some(Err(_)) => {
                if let Some(guard) = this.guard.take() {
                    guard.settle(Outcome::Failed);
                }
                return Poll::Ready(frame);
            }
            Some(Ok(frame)) => {
                if let (Some(usage), Some(data)) = (this.usage.as_mut(), frame.data_ref()) {
                    usage.feed(data.chunk());
                }
                frame.trailers_ref()
            }
            None => None,
        };
        // hyper does not poll again once the body says that it has ended.
        if (frame.is_none() || trailers.is_some() || this.body.is_end_stream())
            && let Some(mut guard) = this.guard.take()
        {
            if let Some(tokens) = this.usage.as_ref().and_then(Usage::tokens) {
                let mut used = [Some(tokens); LIMITS];
                used.iter_mut().take(1).for_each(|calls| *calls = None);
                guard.correct(used);
            }
            if let Some(reply) = trailers.and_then(grpc::reply) {
                guard.settle(reply);
            }
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
