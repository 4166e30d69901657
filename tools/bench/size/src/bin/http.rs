//! The parsers of HTTP rate limit headers.
#![no_std]
#![no_main]

use tidegate_size as _;

use tidegate::signal::http::{Answer, Reading};
use tidegate::{Hint, Span};

#[allow(dead_code, reason = "roots for the linker, never called")]
pub struct Parsers {
    reading: fn(u16) -> Reading,
    header: fn(&mut Reading, &[u8], &[u8]),
    finish: fn(&mut Reading, Option<Span>) -> Answer,
    last: fn(&Answer) -> Option<Hint>,
}

#[unsafe(no_mangle)]
pub static ROOTS: Parsers = Parsers {
    reading: Reading::new,
    header: |reading, name, value| reading.header(name, value),
    finish: Reading::finish,
    last: |answer| answer.limits().last().map(|limit| limit.hint),
};
