//! A digest by which bytes are known again.

/// The digest of no bytes.
pub(crate) const EMPTY: u32 = 0x811C_9DC5;

/// The digest of what `digest` is of, and one more byte.
pub(crate) const fn and(digest: u32, byte: u8) -> u32 {
    // Widening a byte: `From` is not const.
    (digest ^ byte as u32).wrapping_mul(0x0100_0193)
}

/// FNV-1a in 32 bits: short, and no defence against whoever wants two digests to be the same. Each
/// step is a bijection of the digest, so one changed byte always changes it.
pub(crate) fn fnv1a(bytes: impl Iterator<Item = u8>) -> u32 {
    bytes.fold(EMPTY, and)
}
