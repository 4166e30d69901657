//! Memory that survives a reset, like RTC memory in deep sleep.
//!
//! It is outside the linker's memory regions, so neither the runtime nor the loader clears it.

pub const BYTES: usize = 1024;

unsafe extern "C" {
    /// Defined in the board's memory map.
    #[link_name = "_retained"]
    static mut RETAINED: [u8; BYTES];
}

/// Returns a copy. After power-on the content is arbitrary.
#[must_use]
pub fn load() -> [u8; BYTES] {
    // SAFETY: the memory exists, nothing else uses it, and any byte is valid.
    unsafe { (&raw const RETAINED).read_volatile() }
}

pub fn store(bytes: &[u8; BYTES]) {
    // SAFETY: as above.
    unsafe { (&raw mut RETAINED).write_volatile(*bytes) }
}
