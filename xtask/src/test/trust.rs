//! Trust: the parts that look for what nobody thought of, under one name.
//!
//! They are parts like all others, so that a run of everything takes each of them once.

/// What stands for all of them: `cargo xtask test trust`.
pub const NAME: &str = "trust";

/// The parts that it stands for.
pub const PARTS: [&str; 1] = ["fuzz"];
