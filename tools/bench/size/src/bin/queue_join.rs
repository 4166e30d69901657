//! The same as in `queue`, with calls that are rejected for those before them.
#![no_std]
#![no_main]

use tidegate::law::Fixed;
use tidegate_size::JoinVerbs;

#[unsafe(no_mangle)]
pub static ROOTS: JoinVerbs<Fixed> = JoinVerbs::ALL;
