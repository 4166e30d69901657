//! Links an image for the chip: with the linker script of esp-hal.

fn main() {
    println!("cargo:rustc-link-arg-bins=-Tlinkall.x");
}
