//! Whether two policies of a budget are equal.

use core::hash::{Hash, Hasher};

use crate::digest::{EMPTY, and};
use crate::policy::Policy;
use crate::time::Span;

/// A concurrency limit from here on counts as none.
const PLACES: u16 = 4_096;

/// A number that is equal for equal policies of a budget, in all frontends: the law, the longest cooldown, the
/// concurrency limit, the expiry of leases, and the heartbeat. Members with the same number need not agree on whose
/// policy applies. It is FNV-1a with 32 bits: short, and not resistant to deliberate collisions.
///
/// ```
/// use tidegate::shared::policy_digest;
/// use tidegate::{Policy, Quota, Span, law::Fixed};
///
/// let digest = |calls: u64| {
///     let policy = Policy::new(Fixed::new(Quota::per_second(calls).unwrap()));
///     policy_digest(&policy, Span::from_secs(30), Span::from_millis(500))
/// };
/// assert_eq!(digest(10), digest(10));
/// assert_ne!(digest(10), digest(100));
/// ```
pub fn policy_digest<L: Copy + Hash>(policy: &Policy<L>, expiry: Span, heartbeat: Span) -> u32 {
    let mut digest = Digest(EMPTY);
    let rules = &policy.rules;
    (policy.laws(), rules.cooldown.ceiling(), rules.concurrency.get().min(PLACES))
        .hash(&mut digest);
    (expiry, heartbeat).hash(&mut digest);
    digest.0
}

/// The same on machines whose words have 32 and 64 bits.
struct Digest(u32);

impl Hasher for Digest {
    fn finish(&self) -> u64 {
        self.0.into()
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |digest, byte| and(digest, *byte));
    }

    fn write_usize(&mut self, number: usize) {
        self.write(&u64::try_from(number).unwrap_or(u64::MAX).to_le_bytes());
    }

    fn write_isize(&mut self, number: isize) {
        self.write(&i64::try_from(number).unwrap_or(i64::MAX).to_le_bytes());
    }
}
