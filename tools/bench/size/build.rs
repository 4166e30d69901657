//! Tells the linker that the table ROOTS must be in each image, and nothing else need be.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-link-arg-bins=--gc-sections");
    println!("cargo::rustc-link-arg-bins=--entry=ROOTS");
    // A second name is an error where there is no first.
    println!("cargo::rustc-link-arg-bins=--defsym=required=ROOTS");
}
