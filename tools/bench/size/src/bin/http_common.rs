//! The parser of the common HTTP dialects.
#![no_std]
#![no_main]

use tidegate_size as _;

use tidegate::Reply;
use tidegate::signal::http::CommonReading;

#[allow(dead_code, reason = "roots for the linker, never called")]
pub struct Parsers {
    reading: fn(u16) -> CommonReading,
    header: fn(&mut CommonReading, &[u8], &[u8]),
    finish: fn(&mut CommonReading, Option<u32>) -> Reply,
}

#[unsafe(no_mangle)]
pub static ROOTS: Parsers = Parsers {
    reading: CommonReading::new,
    header: |reading, name, value| reading.header(name, value),
    finish: CommonReading::finish,
};
