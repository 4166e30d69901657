//! A controller with `fixed`, the smallest law: the part that every controller needs.
#![no_std]
#![no_main]

use tidegate::law::Fixed;
use tidegate_size::Verbs;

#[unsafe(no_mangle)]
pub static ROOTS: Verbs<Fixed> = Verbs::ALL;
