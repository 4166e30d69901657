//! The images of embedded/firmware: building them and running them in QEMU.

mod machine;

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::Result;

pub use machine::{Run, numbers, told};

use crate::progress::step;
use crate::setup::{self, aside, rustup};
use crate::workspace::root;

/// An emulated board. Its target's name selects it in the images too.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Board {
    /// A Cortex-M0.
    Microbit,
    /// A Cortex-M4F.
    Mps2,
    /// A 32-bit RISC-V.
    Virt,
}

impl Board {
    pub const ALL: [Self; 3] = [Self::Microbit, Self::Mps2, Self::Virt];
    /// Those with a network card.
    pub const NETWORKED: [Self; 2] = [Self::Mps2, Self::Virt];

    pub const fn target(self) -> &'static str {
        match self {
            Self::Microbit => "thumbv6m-none-eabi",
            Self::Mps2 => "thumbv7em-none-eabihf",
            Self::Virt => "riscv32imc-unknown-none-elf",
        }
    }

    /// The name of QEMU's machine.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Microbit => "microbit",
            Self::Mps2 => "mps2-an386",
            Self::Virt => "virt",
        }
    }
}

/// Installs the emulator and the log decoder.
pub fn bring_tools() -> Result<()> {
    setup::need(&["qemu"])?;
    setup::tool("defmt-print").map(drop)
}

/// QEMU with this machine, without a display, a serial port or input.
pub fn qemu(program: &str, machine: &str) -> Command {
    let mut qemu = aside::command(program);
    if let Some(data) = aside::data(program, "qemu") {
        qemu.arg("-L").arg(data);
    }
    qemu.args(["-machine", machine, "-nographic", "-monitor", "none", "-serial", "null"]);
    qemu.stdin(Stdio::null());
    qemu
}

/// Builds these images for a board and returns their folder.
pub fn build(board: Board, images: &[&str]) -> Result<PathBuf> {
    let target = board.target();
    let (command, output) = on(board, "build", images)?;
    step(&format!("building embedded/firmware for {target}"), command)?;
    Ok(output.join(target).join("firmware"))
}

/// `cargo VERB` for these images on a board, and its target folder.
pub fn on(board: Board, verb: &str, images: &[&str]) -> Result<(Command, PathBuf)> {
    let output = root().join("target/firmware");
    // The folder has the linker's options.
    let mut command = rustup::cargo(verb, board.target(), &root().join("embedded/firmware"))?;
    command.args(["--profile", "firmware", "--locked", "--target-dir"]).arg(&output);
    for image in images {
        command.args(["--package", &package(image)]);
    }
    Ok((command, output))
}

/// The name of an image's package and file.
fn package(image: &str) -> String {
    format!("firmware-{image}")
}
