//! The signals of gRPC: `grpc-status`, `grpc-retry-pushback-ms` and `RetryInfo` in
//! `grpc-status-details-bin`.

use http::HeaderMap;
use tidegate::Reply;
use tidegate::signal::grpc;

/// The reply in the headers or trailers of a gRPC response. `None` if they have no status.
pub(crate) fn reply<const LIMITS: usize>(headers: &HeaderMap) -> Option<Reply<LIMITS>> {
    let code = headers.get("grpc-status")?.to_str().ok()?.parse().unwrap_or(u32::MAX);
    let value = |name| headers.get(name).map(|value: &http::HeaderValue| value.as_bytes());
    let delay = value("grpc-status-details-bin").and_then(grpc::retry_delay_base64);
    let message = value("grpc-message").unwrap_or_default();
    Some(grpc::reply(code, message, value("grpc-retry-pushback-ms"), delay))
}

/// Whether a response is one of gRPC whose trailers will contain the outcome.
pub(crate) fn ends_later(headers: &HeaderMap) -> bool {
    let kind = headers.get(http::header::CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc"))
        && !headers.contains_key("grpc-status")
}
