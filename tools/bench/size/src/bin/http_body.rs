//! The parsers of HTTP rate limit headers and of response bodies.
#![no_std]
#![no_main]

use tidegate_size as _;

use tidegate::signal::body::Body;
use tidegate::signal::http::{Answer, Reading};
use tidegate::{Hint, Span};

#[allow(dead_code, reason = "roots for the linker, never called")]
pub struct Parsers {
    reading: fn(u16) -> Reading,
    header: fn(&mut Reading, &[u8], &[u8]),
    feed: fn(&mut Body, &[u8]),
    body: fn(&mut Reading, &Body),
    finish: fn(&mut Reading, Option<Span>) -> Answer,
    last: fn(&Answer) -> Option<Hint>,
}

#[unsafe(no_mangle)]
pub static ROOTS: Parsers = Parsers {
    reading: Reading::new,
    header: |reading, name, value| reading.header(name, value),
    feed: |body, bytes| body.feed(bytes),
    body: Reading::body,
    finish: Reading::finish,
    last: |answer| answer.limits().last().map(|limit| limit.hint),
};
