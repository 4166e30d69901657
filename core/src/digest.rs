//! A digest that identifies bytes.

/// The digest of no bytes.
pub(crate) const EMPTY: u32 = 0x811C_9DC5;

/// Adds one byte to `digest`.
pub(crate) const fn and(digest: u32, byte: u8) -> u32 {
    // Widening a byte: `From` is not const.
    (digest ^ byte as u32).wrapping_mul(0x0100_0193)
}

/// FNV-1a with 32 bits. Short, and not resistant to deliberate collisions. Each step is a bijection
/// of the digest, so one changed byte always changes it.
pub(crate) fn fnv1a(bytes: impl Iterator<Item = u8>) -> u32 {
    bytes.fold(EMPTY, and)
}
