//! What gRPC says: `grpc-status`, `grpc-retry-pushback-ms` and, with the feature `tonic`, `RetryInfo`.

use http::HeaderMap;
use tidegate::Reply;
use tidegate::signal::grpc;

/// What the headers or trailers of a gRPC response say; `None` where they have no status.
pub(crate) fn reply<const LIMITS: usize>(headers: &HeaderMap) -> Option<Reply<LIMITS>> {
    let code = headers.get("grpc-status")?.to_str().ok()?.parse().unwrap_or(u32::MAX);
    let pushback = headers.get("grpc-retry-pushback-ms");
    Some(grpc::reply(code, pushback.map(|value| value.as_bytes())))
}
