//! Searches with the target `signals`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tidegate_fuzz::try_with("signals", bytes));
