//! `tidegate-promises`: the exhaustive walk.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(u8::from(!tidegate_promises::exhaustive::run()))
}
