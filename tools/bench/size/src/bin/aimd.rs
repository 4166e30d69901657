//! A controller with only `aimd`.
#![no_std]
#![no_main]

use tidegate::law::Aimd;
use tidegate_size::Verbs;

#[unsafe(no_mangle)]
pub static ROOTS: Verbs<Aimd> = Verbs::ALL;
