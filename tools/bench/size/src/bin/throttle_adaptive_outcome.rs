//! A throttle with `adaptive` that only reads the outcome.
#![no_std]
#![no_main]

use tidegate::{Policy, law::Adaptive};

tidegate_size::throttle!(Adaptive, Policy::adaptive());
