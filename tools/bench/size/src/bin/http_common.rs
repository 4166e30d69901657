//! The parser of the common HTTP dialects.
#![no_std]
#![no_main]

use tidegate_size as _;

use tidegate::Reply;
use tidegate::signal::http::{Common, Reading};

#[allow(dead_code, reason = "roots for the linker, never called")]
pub struct Parsers {
    reading: fn(u16) -> Reading<Common>,
    header: fn(&mut Reading<Common>, &[u8], &[u8]),
    finish: fn(&mut Reading<Common>, Option<u32>) -> Reply,
}

#[unsafe(no_mangle)]
pub static ROOTS: Parsers = Parsers {
    reading: Reading::common,
    header: |reading, name, value| reading.header(name, value),
    finish: Reading::reply,
};
