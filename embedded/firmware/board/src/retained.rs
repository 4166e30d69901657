//! Memory that a reset leaves as it is, as an RTC's is in deep sleep.
//!
//! It lies behind what the linker gives away, so that neither the runtime nor the loader clears it.

/// How many bytes are kept.
pub const BYTES: usize = 1024;

unsafe extern "C" {
    /// Where they are: the board's memory map says it.
    #[link_name = "_retained"]
    static mut RETAINED: [u8; BYTES];
}

/// A copy of what is there: after power has come, whatever the memory holds then.
#[must_use]
pub fn load() -> [u8; BYTES] {
    // SAFETY: the memory is there, it is nobody else's, and any byte is a byte.
    unsafe { (&raw const RETAINED).read_volatile() }
}

/// Keeps these bytes.
pub fn store(bytes: &[u8; BYTES]) {
    // SAFETY: as above.
    unsafe { (&raw mut RETAINED).write_volatile(*bytes) }
}
