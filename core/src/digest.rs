//! A digest by which bytes are known again.

/// FNV-1a in 32 bits: short, and no defence against whoever wants two digests to be the same. Each
/// step is a bijection of the digest, so one changed byte always changes it.
pub(crate) fn fnv1a(bytes: impl Iterator<Item = u8>) -> u32 {
    bytes.fold(0x811C_9DC5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}
