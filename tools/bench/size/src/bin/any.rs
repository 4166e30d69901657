//! A controller whose law is chosen by name at run time, so it contains every law.
#![no_std]
#![no_main]

use tidegate::Policy;
use tidegate::law::AnyLaw;
use tidegate_size::Verbs;

#[unsafe(no_mangle)]
pub static ROOTS: (fn(&str) -> Option<Policy>, Verbs<AnyLaw>) = (Policy::named, Verbs::ALL);
