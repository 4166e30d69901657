//! A controller with `fixed` whose calls state their costs.
#![no_std]
#![no_main]

use tidegate::law::Fixed;
use tidegate_size::Verbs;

#[unsafe(no_mangle)]
pub static ROOTS: Verbs<Fixed, [u32; 1]> = Verbs::ALL;
