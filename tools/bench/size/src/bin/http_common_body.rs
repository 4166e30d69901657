//! The parser of the common HTTP dialects, and the parser of bodies.
#![no_std]
#![no_main]

use tidegate::Reply;
use tidegate::signal::body::Body;
use tidegate_size::CommonHeaders;

#[unsafe(no_mangle)]
pub static ROOTS: (CommonHeaders, fn(&mut Body, &[u8]), fn(&Body, u16, Reply) -> Reply) =
    (CommonHeaders::ALL, |body, bytes| body.feed(bytes), Body::refine);
