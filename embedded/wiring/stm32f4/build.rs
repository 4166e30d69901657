//! Links an image for the chip: with the linker script of cortex-m-rt. The `memory.x` that it includes is
//! embassy-stm32's.

fn main() {
    println!("cargo:rustc-link-arg-bins=--nmagic");
    println!("cargo:rustc-link-arg-bins=-Tlink.x");
}
