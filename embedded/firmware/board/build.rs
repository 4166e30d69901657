//! Writes the memory map of the target's board.

use std::path::PathBuf;
use std::{env, fs};

fn main() {
    let target = env::var("TARGET").expect("cargo sets TARGET");
    let map = match &*target {
        // QEMU's microbit: a Nordic nRF51 (Cortex-M0).
        "thumbv6m-none-eabi" => arm("256K", "15K"),
        // QEMU's mps2-an386 (Cortex-M4F), with the memory of a medium-sized microcontroller.
        "thumbv7em-none-eabihf" => arm("512K", "63K"),
        // QEMU's virt: everything in one memory.
        _ if target.starts_with("riscv32") => RISCV.to_owned(),
        _ => return,
    };
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    fs::write(out.join("memory.x"), map).expect("OUT_DIR is writable");
    println!("cargo::rustc-link-search={}", out.display());
    println!("cargo::rerun-if-changed=build.rs");
}

/// Memory after the RAM survives a reset: neither the runtime nor the loader writes there.
fn arm(flash: &str, ram: &str) -> String {
    format!(
        "MEMORY {{\n    FLASH : ORIGIN = 0, LENGTH = {flash}\n    \
         RAM : ORIGIN = 0x20000000, LENGTH = {ram}\n}}\n\
         _retained = ORIGIN(RAM) + LENGTH(RAM);\n"
    )
}

const RISCV: &str = "\
MEMORY { RAM : ORIGIN = 0x80000000, LENGTH = 1M }
REGION_ALIAS(\"REGION_TEXT\", RAM);
REGION_ALIAS(\"REGION_RODATA\", RAM);
REGION_ALIAS(\"REGION_DATA\", RAM);
REGION_ALIAS(\"REGION_BSS\", RAM);
REGION_ALIAS(\"REGION_HEAP\", RAM);
REGION_ALIAS(\"REGION_STACK\", RAM);
_retained = ORIGIN(RAM) + LENGTH(RAM);
";
