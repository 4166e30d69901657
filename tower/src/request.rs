//! What the layer needs to know about a request.

use http::{HeaderMap, Method};

use crate::call::Call;
use crate::classify::Standard;
use crate::timer::{Timer, Tokio};

/// Describes the call of a request: its key or [keys](Call::keys), its cost, its priority, and whether it is idempotent.
///
/// For [`Standard`], the key is the host. A request is idempotent if its method is, or if it has an
/// `Idempotency-Key`. Other requests are retried only if they were throttled (429), because the
/// server then did not serve them. Settings that the call already has are kept. A function can also
/// be used:
///
/// ```
/// use tidegate_tower::{Call, Describe, Standard};
///
/// // A limit for each tenant, and the report of each may wait.
/// let by_tenant = |request: &http::Request<String>, call: Call| {
///     let tenant = request.headers().get("tenant").and_then(|value| value.to_str().ok());
///     let priority = if request.uri().path() == "/report" { 0 } else { 3 };
///     Standard.describe(request, call).key(tenant.unwrap_or_default()).with_priority(priority)
/// };
/// # let gate = tidegate_tower::Gate::adaptive();
/// # by_tenant.describe(&http::Request::new(String::new()), gate.call());
/// ```
pub trait Describe<Req, const LIMITS: usize = 1, T: Timer = Tokio> {
    /// Returns the call for `request`, based on a plain call.
    fn describe(&self, request: &Req, call: Call<LIMITS, T>) -> Call<LIMITS, T>;
}

impl<Req, F, const LIMITS: usize, T: Timer> Describe<Req, LIMITS, T> for F
where
    F: Fn(&Req, Call<LIMITS, T>) -> Call<LIMITS, T>,
{
    fn describe(&self, request: &Req, call: Call<LIMITS, T>) -> Call<LIMITS, T> {
        self(request, call)
    }
}

impl<B, const LIMITS: usize, T: Timer> Describe<http::Request<B>, LIMITS, T> for Standard {
    fn describe(&self, request: &http::Request<B>, call: Call<LIMITS, T>) -> Call<LIMITS, T> {
        let host = request.uri().authority().map(|authority| authority.as_str());
        let host = host.or_else(|| request.headers().get(http::header::HOST)?.to_str().ok());
        let is_idempotent = is_idempotent(request.method(), request.headers());
        call.of_request(host.unwrap_or_default(), is_idempotent)
    }
}

/// Whether a request may be made twice.
pub(crate) fn is_idempotent(method: &Method, headers: &HeaderMap) -> bool {
    method.is_idempotent() || headers.contains_key("idempotency-key")
}

/// Copies requests, so that they can be retried.
///
/// [`Standard`] copies requests whose body is [`Clone`], and those of reqwest whose body is not a
/// stream. For other bodies, pass a function, for example with [`copy`]:
///
/// ```
/// use tidegate_tower::{Repeat, copy};
///
/// struct Body(Option<String>);
/// let repeat = |request: &mut http::Request<Body>| {
///     copy(request, |body| body.0.clone().map(|text| Body(Some(text))))
/// };
/// assert!(repeat.repeat(&mut http::Request::new(Body(None))).is_none());
/// ```
pub trait Repeat<Req> {
    /// Returns a copy; `None` if the request cannot or must not be copied. It may replace the body
    /// of the request with an equal one.
    fn repeat(&self, request: &mut Req) -> Option<Req>;
}

impl<Req, F: Fn(&mut Req) -> Option<Req>> Repeat<Req> for F {
    fn repeat(&self, request: &mut Req) -> Option<Req> {
        self(request)
    }
}

impl<B: Clone> Repeat<http::Request<B>> for Standard {
    fn repeat(&self, request: &mut http::Request<B>) -> Option<http::Request<B>> {
        Some(request.clone())
    }
}

/// Copies an HTTP request, if its body can be copied.
pub fn copy<B>(
    request: &http::Request<B>,
    body: impl FnOnce(&B) -> Option<B>,
) -> Option<http::Request<B>> {
    let mut copy = http::Request::new(body(request.body())?);
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.version_mut() = request.version();
    *copy.headers_mut() = request.headers().clone();
    *copy.extensions_mut() = request.extensions().clone();
    Some(copy)
}
