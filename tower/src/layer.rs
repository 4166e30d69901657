//! The tower layer: a gate in front of any service.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

use tower_layer::Layer;
use tower_service::Service;

use crate::classify::{Classify, Responses, Standard};
use crate::drive::drive;
use crate::gate::Gate;
use crate::request::{Describe, Repeat};
use crate::response::Hold;
use crate::timer::{Timer, Tokio};

/// Any error: [`Error`](crate::Error), or that of the service.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Puts a [`Gate`] in front of a service.
///
/// ```
/// use tidegate_tower::{Gate, ThrottleLayer};
/// use tower::{ServiceBuilder, ServiceExt, service_fn};
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), tidegate_tower::BoxError> {
/// # static ATTEMPTS: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
/// # let client = service_fn(async |_: http::Request<String>| {
/// #     let first = ATTEMPTS.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0;
/// #     let status = if first { 429 } else { 200 };
/// #     http::Response::builder().status(status).body(String::from("hello"))
/// # });
/// let gate = Gate::adaptive();
/// let mut service = ServiceBuilder::new().layer(ThrottleLayer::new(gate.clone())).service(client);
///
/// let request = http::Request::get("http://api.example.com/").body(String::new())?;
/// let response = service.ready().await?.call(request).await?;
/// assert_eq!(response.status(), 200);
/// assert_eq!(gate.stats().counts.throttled, 1);
/// # use tower::Service;
/// # Ok(()) }
/// ```
///
/// By default, the key is the host, requests that may be repeated are retried, and a permit ends with the response
/// body. [`describe`](Self::describe), [`repeat`](Self::repeat), [`classify`](Self::classify) and
/// [`until_headers`](Self::until_headers) change that.
#[derive(Clone, Debug)]
pub struct ThrottleLayer<
    const LIMITS: usize = 1,
    T: Timer = Tokio,
    D = Standard,
    P = Standard,
    C = Responses,
> {
    pub(crate) gate: Gate<LIMITS, T>,
    pub(crate) describe: D,
    pub(crate) repeat: P,
    pub(crate) classify: C,
    /// Whether the body of a response holds the permit.
    pub(crate) holds: bool,
}

impl<const LIMITS: usize, T: Timer> ThrottleLayer<LIMITS, T> {
    /// Creates a layer that makes every request a call at this gate.
    #[must_use]
    pub const fn new(gate: Gate<LIMITS, T>) -> Self {
        Self { gate, describe: Standard, repeat: Standard, classify: Responses, holds: true }
    }
}

impl<const LIMITS: usize, T: Timer, D, P, C> ThrottleLayer<LIMITS, T, D, P, C> {
    /// Sets how requests become calls; see [`Describe`].
    #[must_use]
    pub fn describe<E>(self, describe: E) -> ThrottleLayer<LIMITS, T, E, P, C> {
        let Self { gate, repeat, classify, holds, .. } = self;
        ThrottleLayer { gate, describe, repeat, classify, holds }
    }

    /// Sets how requests are copied; see [`Repeat`].
    #[must_use]
    pub fn repeat<Q>(self, repeat: Q) -> ThrottleLayer<LIMITS, T, D, Q, C> {
        let Self { gate, describe, classify, holds, .. } = self;
        ThrottleLayer { gate, describe, repeat, classify, holds }
    }

    /// Sets how results are read; see [`Classify`].
    #[must_use]
    pub fn classify<E>(self, classify: E) -> ThrottleLayer<LIMITS, T, D, P, E> {
        let Self { gate, describe, repeat, holds, .. } = self;
        ThrottleLayer { gate, describe, repeat, classify, holds }
    }

    /// Ends a permit with the headers of a response instead of its body.
    #[must_use]
    pub fn until_headers(self) -> Self {
        Self { holds: false, ..self }
    }
}

/// The service must be [`Clone`]: each attempt has its own clone, which gets ready for it. Put a service that is not,
/// such as tower's `RateLimit`, behind tower's `Buffer`.
impl<S: Clone, const LIMITS: usize, T: Timer, D: Clone, P: Clone, C: Clone> Layer<S>
    for ThrottleLayer<LIMITS, T, D, P, C>
{
    type Service = Throttle<S, LIMITS, T, D, P, C>;

    fn layer(&self, inner: S) -> Self::Service {
        let Self { gate, describe, repeat, classify, holds } = self;
        let layer = ThrottleLayer {
            gate: gate.clone(),
            describe: describe.clone(),
            repeat: repeat.clone(),
            classify: classify.clone(),
            holds: *holds,
        };
        Throttle { inner, layer }
    }
}

/// A service behind a [`Gate`]. Created by [`ThrottleLayer`].
///
/// It is always ready. It acquires a permit in `call`, so a caller that never calls holds none. It makes the inner
/// service ready for each attempt.
///
/// Its errors are those of the service, and [`Error`](crate::Error) if a request was not sent:
///
/// ```
/// use tidegate_tower::{BoxError, Error};
///
/// fn was_not_sent(error: &BoxError) -> bool {
///     matches!(error.downcast_ref(), Some(Error::Rejected { .. }))
/// }
/// # let _ = was_not_sent;
/// ```
#[derive(Clone, Debug)]
pub struct Throttle<
    S,
    const LIMITS: usize = 1,
    T: Timer = Tokio,
    D = Standard,
    P = Standard,
    C = Responses,
> {
    inner: S,
    layer: ThrottleLayer<LIMITS, T, D, P, C>,
}

impl<S, Req, const LIMITS: usize, T, D, P, C> Service<Req> for Throttle<S, LIMITS, T, D, P, C>
where
    S: Service<Req> + Clone + Send + 'static,
    S::Future: Send,
    S::Response: Hold<LIMITS, T> + Send,
    S::Error: Into<BoxError> + Send,
    Req: Send + 'static,
    T: Timer<Sleep: Send> + Send + Sync,
    D: Describe<Req, LIMITS, T>,
    P: Repeat<Req> + Clone + Send + 'static,
    C: Classify<Result<S::Response, S::Error>, LIMITS> + Clone + Send + 'static,
{
    type Response = <S::Response as Hold<LIMITS, T>>::Held;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Req) -> Self::Future {
        let ThrottleLayer { gate, describe, repeat, classify, holds } = &self.layer;
        let call = describe.describe(&request, gate.call());
        let (inner, repeat) = (self.inner.clone(), repeat.clone());
        let send = move |request| {
            // Each attempt gets ready separately: one attempt may be given up while the service gets ready.
            let mut inner = inner.clone();
            async move {
                poll_fn(|cx| inner.poll_ready(cx)).await?;
                inner.call(request).await
            }
        };
        let repeat = move |request: &mut Req| repeat.repeat(request);
        Box::pin(drive(call, request, *holds, repeat, classify.clone(), send, |driven| {
            let (result, end) = driven?;
            Ok(end.hold(result.map_err(Into::into)?))
        }))
    }
}
