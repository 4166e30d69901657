//! CORS: pages on this machine may read every response and its rate limit headers.

use crate::loopback::is_origin;
use axum::http::{HeaderName, Method};
use std::time::Duration;
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};

/// Every rate limit header. A page cannot see a header that is missing here. `Date` is the
/// reference for dates in the others.
const TELLING: [&str; 24] = [
    "date",
    "ratelimit",
    "ratelimit-limit",
    "ratelimit-policy",
    "ratelimit-remaining",
    "ratelimit-reset",
    "retry-after",
    "retry-after-ms",
    "x-amz-retry-after",
    "x-amzn-errortype",
    "x-ratelimit-bucket",
    "x-ratelimit-limit",
    "x-ratelimit-limit-requests",
    "x-ratelimit-limit-tokens",
    "x-ratelimit-remaining",
    "x-ratelimit-remaining-requests",
    "x-ratelimit-remaining-tokens",
    "x-ratelimit-reset",
    "x-ratelimit-reset-after",
    "x-ratelimit-reset-requests",
    "x-ratelimit-reset-tokens",
    "x-ratelimit-resource",
    "x-ratelimit-scope",
    "x-ratelimit-used",
];

/// How long a browser may cache a preflight response.
const REMEMBERED: Duration = Duration::from_secs(600);

/// Responds to preflights, which are not counted as calls, and exposes the headers.
pub fn layer() -> CorsLayer {
    CorsLayer::new()
        .allow_origin(AllowOrigin::predicate(|origin, _| origin.to_str().is_ok_and(is_origin)))
        .allow_methods([Method::GET, Method::POST])
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers(TELLING.map(HeaderName::from_static))
        .max_age(REMEMBERED)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Hints;
    use crate::server::limiter::{Answer, Count, Standing};
    use clap::ValueEnum;
    use std::time::SystemTime;

    #[test]
    fn a_page_can_read_the_headers_of_every_family() {
        let second = 1_000_000_000;
        let calls = Standing {
            count: Count::Period,
            quota: 60,
            period: second,
            limit: 60,
            remaining: 0,
            reset: second,
            retry: second,
        };
        let tokens = Standing { count: Count::Tokens, ..calls };
        for hints in Hints::value_variants() {
            for served in [true, false] {
                let answer = Answer { served, standings: vec![calls, tokens] };
                for name in hints.headers(&answer, SystemTime::now()).keys() {
                    assert!(TELLING.contains(&name.as_str()), "{hints:?} sends {name}");
                }
            }
        }
    }
}
