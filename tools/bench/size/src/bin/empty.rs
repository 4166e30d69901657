//! The common frame alone.
#![no_std]
#![no_main]

use tidegate_size as _;

#[unsafe(no_mangle)]
pub static ROOTS: [fn(); 0] = [];
