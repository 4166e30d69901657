//! Access to device registers by address.

pub(crate) fn read(address: usize) -> u32 {
    // SAFETY: all callers use registers of this machine.
    unsafe { (address as *const u32).read_volatile() }
}

pub(crate) fn write(address: usize, value: u32) {
    // SAFETY: as above, and no register is memory that Rust manages.
    unsafe { (address as *mut u32).write_volatile(value) }
}
