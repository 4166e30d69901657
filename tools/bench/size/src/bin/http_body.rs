//! The parsers of HTTP rate limit headers and of response bodies.
#![no_std]
#![no_main]

use tidegate::signal::body::Body;
use tidegate::signal::http::Reading;
use tidegate_size::Headers;

#[unsafe(no_mangle)]
pub static ROOTS: (Headers, fn(&mut Body, &[u8]), fn(&mut Reading, &Body)) =
    (Headers::ALL, |body, bytes| body.feed(bytes), Reading::body);
