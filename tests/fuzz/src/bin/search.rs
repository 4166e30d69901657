//! Coverage-guided fuzzing with libFuzzer. `cargo xtask fuzz` starts it and names the target in the
//! environment.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tidegate_fuzz::{Target, target};

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("TIDEGATE_FUZZ_TARGET").unwrap_or_default();
    target(&name).unwrap_or_else(|error| {
        eprintln!("TIDEGATE_FUZZ_TARGET: {error}.");
        std::process::exit(2)
    })
});

fuzz_target!(|bytes: &[u8]| (TARGET.try_with)(bytes));
