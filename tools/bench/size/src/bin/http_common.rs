//! The parser of the common HTTP dialects.
#![no_std]
#![no_main]

use tidegate_size::CommonHeaders;

#[unsafe(no_mangle)]
pub static ROOTS: CommonHeaders = CommonHeaders::ALL;
