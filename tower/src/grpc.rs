//! What gRPC says: `grpc-status`, `grpc-retry-pushback-ms` and, with the feature `tonic`, `RetryInfo`.

use std::time::Duration;

use http::HeaderMap;
use tidegate::signal::grpc;
use tidegate::{Hint, Reply};

use crate::timer::span;

/// What the headers or trailers of a gRPC response say; `None` where they have no status.
pub(crate) fn reply<const LIMITS: usize>(headers: &HeaderMap) -> Option<Reply<LIMITS>> {
    let code = headers.get("grpc-status")?.to_str().ok()?.parse().unwrap_or(u32::MAX);
    let pushback = headers.get("grpc-retry-pushback-ms").map(|value| value.as_bytes());
    #[cfg(feature = "tonic")]
    let delay = crate::adapter::tonic::retry_info(headers);
    #[cfg(not(feature = "tonic"))]
    let delay = None;
    Some(of_status(code, pushback, delay))
}

/// Whether a response is one of gRPC, whose trailers will say what became of the call.
pub(crate) fn ends_later(headers: &HeaderMap) -> bool {
    let kind = headers.get(http::header::CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc"))
        && !headers.contains_key("grpc-status")
}

/// The same of a status. The pushback is meant for this client, so it wins over `RetryInfo`.
pub(crate) fn of_status<const LIMITS: usize>(
    code: u32,
    pushback: Option<&[u8]>,
    delay: Option<Duration>,
) -> Reply<LIMITS> {
    match (pushback, delay) {
        (None, Some(delay)) if grpc::outcome(code).is_retryable() => {
            grpc::outcome(code).with(Hint::retry_after(span(delay)))
        }
        _ => grpc::reply(code, pushback),
    }
}
