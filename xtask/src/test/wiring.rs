//! The wiring for chips whose drivers are not in this repository: it links to an image that starts.

use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::bench::image::Image;
use crate::children::Program;
use crate::progress::step;
use crate::setup::{self, rustup};
use crate::tally::Tally;
use crate::workspace::{installed, root};

/// Each chip's name (RTIC is on an nRF52840), its target, and QEMU's machine with its core and with memory at its
/// addresses. QEMU has none of the chips, so an image runs until it needs the chip's own clock.
const CHIPS: [(&str, &str, Option<&str>); 5] = [
    ("rp2040", "thumbv6m-none-eabi", None),
    ("nrf52840", "thumbv7em-none-eabihf", Some("mps2-an386")),
    ("rtic", "thumbv7em-none-eabihf", Some("mps2-an386")),
    ("stm32f4", "thumbv7em-none-eabihf", Some("netduinoplus2")),
    ("esp32c3", "riscv32imc-unknown-none-elf", None),
];

/// The bytes of code of a driver, an executor and a throttle. Without a linker script there are none.
const CODE: RangeInclusive<u64> = 16_384..=131_072;

/// What QEMU logs when it translates the program.
const STARTED: &str = "IN: main";
const LIMIT: Duration = Duration::from_secs(60);

pub fn run(tally: &mut Tally) {
    tally.verdict("the emulator", || setup::need(&["qemu"]));
    for (chip, target, machine) in CHIPS {
        tally.verdict(chip, || {
            let image = link(chip, target)?;
            let code = Image::read(&image)?.code;
            ensure!(CODE.contains(&code), "the image has {code} bytes of code");
            machine.map_or(Ok(()), |machine| starts(machine, &image))
        });
    }
}

fn link(chip: &str, target: &str) -> Result<PathBuf> {
    let output = root().join("target/wiring");
    let folder = root().join("embedded/wiring").join(chip);
    let mut command = rustup::cargo("build", target, &folder)?;
    command.args(["--release", "--locked", "--target-dir"]).arg(&output);
    step(&format!("linking for {chip}"), command)?;
    Ok(output.join(target).join("release").join(format!("wiring-{chip}")))
}

/// Runs the image until it has reached its `main`.
fn starts(machine: &str, image: &Path) -> Result<()> {
    let log = image.with_extension("log");
    fs::write(&log, "").with_context(|| log.display().to_string())?;
    let qemu = installed("qemu-system-arm").context("there is no QEMU")?;
    let mut qemu = Command::new(qemu);
    qemu.args(["-machine", machine, "-nographic", "-monitor", "none", "-serial", "null"]);
    qemu.stdin(Stdio::null());
    qemu.args(["-d", "in_asm", "-D"]).arg(&log).arg("-kernel").arg(image);
    let _qemu = Program::tool(&mut qemu).context("cannot start QEMU")?;
    let since = Instant::now();
    while !fs::read_to_string(&log).is_ok_and(|log| log.contains(STARTED)) {
        ensure!(since.elapsed() < LIMIT, "{machine} has not reached its `main`");
        thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}
