//! A controller with `fixed`, the smallest law, with retries and sleep.
#![no_std]
#![no_main]

use tidegate::Policy;
use tidegate::law::Fixed;
use tidegate_size::RetryVerbs;

#[unsafe(no_mangle)]
pub static ROOTS: RetryVerbs<Fixed> = RetryVerbs::all(Policy::new(Fixed::TEN_A_SECOND));
