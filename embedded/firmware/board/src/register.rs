//! Registers of devices, by their addresses.

/// Reads the register at this address.
pub(crate) fn read(address: usize) -> u32 {
    // SAFETY: every caller names a register of the machine that it runs on.
    unsafe { (address as *const u32).read_volatile() }
}

/// Writes the register at this address.
pub(crate) fn write(address: usize, value: u32) {
    // SAFETY: as above, and no register of these devices is memory that Rust knows of.
    unsafe { (address as *mut u32).write_volatile(value) }
}
