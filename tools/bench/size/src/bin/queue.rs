//! The queue with a controller with `fixed`.
#![no_std]
#![no_main]

use tidegate::law::Fixed;
use tidegate_size::QueueVerbs;

#[unsafe(no_mangle)]
pub static ROOTS: QueueVerbs<Fixed> = QueueVerbs::ALL;
