//! The parsers of HTTP rate limit headers.
#![no_std]
#![no_main]

use tidegate_size::Headers;

#[unsafe(no_mangle)]
pub static ROOTS: Headers = Headers::ALL;
