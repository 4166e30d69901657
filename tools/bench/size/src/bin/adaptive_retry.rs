//! A controller with only `adaptive`, with retries and sleep.
#![no_std]
#![no_main]

use tidegate::Policy;
use tidegate::law::Adaptive;
use tidegate_size::RetryVerbs;

#[unsafe(no_mangle)]
pub static ROOTS: RetryVerbs<Adaptive> = RetryVerbs::all(Policy::adaptive());
