//! The images of embedded/firmware: building them and running them in QEMU.

mod machine;

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Result, bail};

pub use machine::{Run, numbers, told};

use crate::road::{Road, Roads};
use crate::workspace::{cargo, root};
use crate::{aside, progress, setup};

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

/// The program that decodes the log.
const DECODER: [&str; 2] = ["defmt-print", "1.2.0"];

/// Installs the emulator and the log decoder.
pub fn bring_tools() -> Result<()> {
    setup::missing_tool("qemu")?;
    if decoder().is_file() {
        return Ok(());
    }
    let [name, version] = DECODER;
    eprintln!("  setup {name}: cargo install {name} --version {version} (a minute, once)");
    let mut install = cargo("install");
    // A few lines a second need no optimised decoder, which takes twice as long to build.
    install.args([name, "--version", version, "--locked", "--debug", "--root"]).arg(tools());
    install.env("CARGO_PROFILE_DEV_DEBUG", "0");
    let ended = progress::run(&format!("building {name}"), install, None)?;
    if !ended.success() {
        bail!("`cargo install {name} --version {version}` failed: {}", ended.reason());
    }
    Ok(())
}

fn tools() -> PathBuf {
    root().join("target/tools")
}

fn decoder() -> PathBuf {
    tools().join("bin").join(DECODER[0])
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
pub fn build(roads: &mut Roads, board: Board, images: &[&str]) -> Result<PathBuf> {
    let target = board.target();
    let (command, output) = on(roads, board, "build", images)?;
    let ended = progress::run(&format!("building for {}", board.name()), command, None)?;
    if !ended.success() {
        bail!("embedded/firmware does not build for {target}:\n{}", ended.output);
    }
    Ok(output.join(target).join("firmware"))
}

/// `cargo VERB` for these images on a board, and its target folder.
pub fn on(
    roads: &mut Roads,
    board: Board,
    verb: &str,
    images: &[&str],
) -> Result<(Command, PathBuf)> {
    let road = roads.to(board.target())?;
    let output = root().join("target/firmware").join(match road {
        Road::Active => "active",
        Road::Debian => "debian",
    });
    // The folder has the linker's options.
    let mut command = road.cargo(verb, board.target(), &root().join("embedded/firmware"));
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
