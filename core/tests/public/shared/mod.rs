//! One budget for a fleet. Properties for arbitrary messages and faults are in `tests/promises`.

mod coordinator;
mod counted;
mod fair;
mod layout;
mod member;
mod policies;
mod rules;
mod storage;
mod tree;

use tidegate::law::Fixed;
use tidegate::shared::{Coordinator, Leases};
use tidegate::{Policy, Quota};

type Desk = Coordinator<Leases<Fixed, 1024>, 64>;

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// The permits of a grant and their distances from it, read by the documented layout only.
fn leases(grant: &[u8]) -> Vec<(u64, i64)> {
    let count = usize::from(grant[40]);
    let field = |from: usize| number(&grant[from..from + 8]);
    (0..count).map(|n| (field(41 + n * 16), field(49 + n * 16).cast_signed())).collect()
}

fn policy(quota: Quota) -> Policy<Fixed> {
    Policy::new(Fixed::new(quota))
}
