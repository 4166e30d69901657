//! A throttle with `aimd` that only reads the outcome.
#![no_std]
#![no_main]

use tidegate::{Policy, law::Aimd};

tidegate_size::throttle!(Aimd, Policy::new(Aimd::DEFAULT));
