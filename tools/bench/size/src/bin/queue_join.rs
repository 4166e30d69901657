//! Like `queue`, also with the check of earlier calls when a call joins.
#![no_std]
#![no_main]

use tidegate::law::Fixed;
use tidegate_size::JoinVerbs;

#[unsafe(no_mangle)]
pub static ROOTS: JoinVerbs<Fixed> = JoinVerbs::ALL;
