//! A controller with only `adaptive`.
#![no_std]
#![no_main]

use tidegate::law::Adaptive;
use tidegate_size::Verbs;

#[unsafe(no_mangle)]
pub static ROOTS: Verbs<Adaptive> = Verbs::ALL;
