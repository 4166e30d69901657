//! CORS: pages on this machine may read every response and its rate limit headers.

use crate::loopback::is_origin;
use axum::http::Method;
use std::time::Duration;
use tower_http::cors::{AllowHeaders, AllowOrigin, Any, CorsLayer};

/// How long a browser may cache a preflight response.
const REMEMBERED: Duration = Duration::from_secs(600);

/// Responds to preflights, which are not counted as calls, and exposes all headers.
pub fn layer() -> CorsLayer {
    CorsLayer::new()
        .allow_origin(AllowOrigin::predicate(|origin, _| origin.to_str().is_ok_and(is_origin)))
        .allow_methods([Method::GET, Method::POST])
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers(Any)
        .max_age(REMEMBERED)
}
