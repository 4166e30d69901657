//! Memory that survives a reset, like RTC memory in deep sleep.
//!
//! It is outside the linker's memory regions, so neither the runtime nor the loader clears it.

/// What fits.
const BYTES: usize = 1024;

unsafe extern "C" {
    /// Defined in the board's memory map.
    #[link_name = "_retained"]
    static mut RETAINED: [u64; BYTES / 8];
}

/// Returns a copy. After power-on the content is arbitrary.
///
/// # Safety
///
/// Any bytes are a valid `T`.
#[must_use]
pub unsafe fn load<T: Copy>() -> T {
    const { assert!(size_of::<T>() <= BYTES && align_of::<T>() <= 8) };
    // SAFETY: the memory exists, and nothing else uses it.
    unsafe { (&raw const RETAINED).cast::<T>().read_volatile() }
}

pub fn store<T: Copy>(value: T) {
    const { assert!(size_of::<T>() <= BYTES && align_of::<T>() <= 8) };
    // SAFETY: as above.
    unsafe { (&raw mut RETAINED).cast::<T>().write_volatile(value) }
}
