//! A throttle with a known rate that only reads the outcome.
#![no_std]
#![no_main]

use tidegate::{Policy, law::Fixed};

tidegate_size::throttle!(Fixed, Policy::new(Fixed::TEN_A_SECOND));
