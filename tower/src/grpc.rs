//! The signals of gRPC: `grpc-status`, `grpc-retry-pushback-ms`, `RetryInfo` in
//! `grpc-status-details-bin`, and `retry-after`.

use http::{HeaderMap, HeaderName, HeaderValue};
use tidegate::signal::grpc;
use tidegate::signal::http::Reading;
use tidegate::{Reply, Span};

use crate::response::since_1970;

static STATUS: HeaderName = HeaderName::from_static("grpc-status");

/// The reply in the headers or trailers of a gRPC response. `None` if they have no status.
pub(crate) fn reply<const LIMITS: usize>(headers: &HeaderMap) -> Option<Reply<LIMITS>> {
    let code = headers.get(&STATUS)?.to_str().ok()?.parse().unwrap_or(u32::MAX);
    let value = |name| headers.get(name).map(HeaderValue::as_bytes);
    let delay = value("grpc-status-details-bin").and_then(grpc::retry_delay_base64);
    Some(read(code, value("grpc-message").unwrap_or_default(), delay, value))
}

/// The reply of a status with the `delay` of its `RetryInfo`, or of the metadata `retry-after`, which some servers send
/// instead.
pub(crate) fn read<'a, const LIMITS: usize>(
    code: u32,
    message: &[u8],
    delay: Option<Span>,
    value: impl Fn(&'static str) -> Option<&'a [u8]>,
) -> Reply<LIMITS> {
    let retry_after = || {
        let mut reading = Reading::new(429);
        reading.header("retry-after", value("retry-after")?);
        reading.finish(since_1970()).hint.retry_after
    };
    grpc::reply(code, message, value("grpc-retry-pushback-ms"), delay.or_else(retry_after))
}

/// Whether a response is one of gRPC whose trailers will contain the outcome.
pub(crate) fn ends_later(headers: &HeaderMap) -> bool {
    let kind = headers.get(http::header::CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc"))
        && !headers.contains_key(&STATUS)
}
