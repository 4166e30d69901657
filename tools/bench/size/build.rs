//! Requires the table ROOTS, and nothing else, in each image.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-link-arg-bins=--gc-sections");
    println!("cargo::rustc-link-arg-bins=--entry=ROOTS");
    // A second name is an error if the first is missing.
    println!("cargo::rustc-link-arg-bins=--defsym=required=ROOTS");
}
