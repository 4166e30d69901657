//! A small stack: the linker's own is a megabyte, which every page would pay for.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch == "wasm32") {
        // A coordinator is a fifth of a megabyte, and to restore one takes the room of three.
        let shared = std::env::var_os("CARGO_FEATURE_SHARED").is_some();
        let bytes = if shared { 720_896 } else { 65_536 };
        println!("cargo:rustc-link-arg-cdylib=-zstack-size={bytes}");
    }
}
