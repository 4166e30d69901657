//! Builds the images of embedded/firmware, and runs them on boards that QEMU emulates.
//!
//! QEMU and the other programs are on the PATH: `cargo xtask test embedded` installs them.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// How long QEMU may take to end after its log.
const GRACE: Duration = Duration::from_secs(5);

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

    /// What its images are compiled for.
    pub const fn target(self) -> &'static str {
        match self {
            Self::Microbit => "thumbv6m-none-eabi",
            Self::Mps2 => "thumbv7em-none-eabihf",
            Self::Virt => "riscv32imc-unknown-none-elf",
        }
    }

    /// The name of QEMU's machine.
    pub const fn machine(self) -> &'static str {
        match self {
            Self::Microbit => "microbit",
            Self::Mps2 => "mps2-an386",
            Self::Virt => "virt",
        }
    }

    pub fn build(self, image: &'static str) -> Image {
        const TOGETHER: &[&str] = &["deep-sleep", "mqtt", "uplink"];
        let alone = [image];
        // Those that share most of their dependencies.
        let images = if TOGETHER.contains(&image) { TOGETHER } else { &alone };
        let output = root().join("target/firmware");
        let mut build = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        // The folder has the linker's options.
        build.args(["build", "--quiet", "--locked", "--profile", "firmware"]);
        build.args(["--target", self.target(), "--target-dir"]).arg(&output);
        build.args(images.iter().flat_map(|image| ["--package".into(), package(image)]));
        let status = build.current_dir(root().join("embedded/firmware")).status();
        assert!(status.is_ok_and(|status| status.success()), "{image} does not build");
        let path = output.join(self.target()).join("firmware").join(package(image));
        Image { board: self, name: image, path }
    }
}

pub struct Image {
    board: Board,
    name: &'static str,
    path: PathBuf,
}

/// The name of an image's package and file.
fn package(image: &str) -> String {
    format!("firmware-{image}")
}

pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap_or(Path::new("."))
}

/// A program that ends with its owner.
pub struct Program(pub Child);

impl Program {
    pub fn start(command: &mut Command) -> Self {
        match command.spawn() {
            Ok(child) => Self(child),
            Err(error) => panic!("{:?} does not start: {error}", command.get_program()),
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

/// Its exit status, or `None` if it does not end within the grace.
fn end(program: &mut Program) -> Option<ExitStatus> {
    let since = Instant::now();
    loop {
        match program.0.try_wait() {
            Ok(None) if since.elapsed() < GRACE => thread::sleep(Duration::from_millis(20)),
            status => return status.ok().flatten(),
        }
    }
}

pub struct Run {
    /// The image, and thus the board.
    pub image: Image,
    pub options: Vec<String>,
    /// A run that takes longer has failed.
    pub limit: Duration,
}

impl Run {
    /// Runs the image to its end, which must be successful. `see` receives each line of the log as it is
    /// written.
    ///
    /// # Panics
    ///
    /// If the image reports a failure, or does not end within the limit.
    pub fn to_its_end(&self, mut see: impl FnMut(&str)) -> String {
        let Image { board, name, path } = &self.image;
        let mut qemu = self.start();
        let log = qemu.0.stdout.take().map_or_else(Stdio::null, Stdio::from);
        let mut print = Command::new("defmt-print");
        print.arg("-e").arg(path).arg("stdin").stdin(log).stdout(Stdio::piped());
        let mut print = Program::start(&mut print);
        let (sender, lines) = mpsc::channel();
        let decoded = print.0.stdout.take();
        thread::spawn(move || {
            for line in decoded.into_iter().flat_map(|it| BufReader::new(it).lines()).flatten() {
                _ = sender.send(line);
            }
        });
        let (since, mut log) = (Instant::now(), String::new());
        while let Ok(line) = lines.recv_timeout(self.limit.saturating_sub(since.elapsed())) {
            see(&line);
            log += &line;
            log.push('\n');
        }
        let (status, decoded) = (end(&mut qemu), end(&mut print));
        let file = format!("{name}-{}.log", board.machine());
        _ = fs::write(root().join("target/firmware").join(file), &log);
        let why = match status.map(|status| status.code()) {
            Some(Some(0)) if decoded.is_some_and(|status| status.success()) => return log,
            Some(Some(0)) => "has a log that defmt-print cannot decode",
            Some(Some(1)) => "reports a failed check",
            Some(Some(101)) => "has panicked",
            Some(Some(102)) => "stopped at a hard fault",
            Some(Some(103)) => "received an unexpected interrupt",
            Some(_) => "ended with an unknown status",
            None => "did not end in time",
        };
        panic!("{name} on {} {why}; its log:\n{log}", board.machine());
    }

    fn start(&self) -> Program {
        let Image { board, path, .. } = &self.image;
        let mut qemu = Command::new(match board {
            Board::Microbit | Board::Mps2 => "qemu-system-arm",
            Board::Virt => "qemu-system-riscv32",
        });
        qemu.args(["-machine", board.machine(), "-nographic", "-monitor", "none"]);
        qemu.args(["-serial", "null", "-semihosting-config", "enable=on,target=native"]);
        if *board == Board::Virt {
            // As bare as the target: multiplication and short instructions, nothing more.
            qemu.args(["-bios", "none", "-cpu", "rv32,a=false,f=false,d=false"]);
        }
        qemu.args(&self.options).arg("-kernel").arg(path);
        Program::start(qemu.stdin(Stdio::null()).stdout(Stdio::piped()))
    }
}

/// The lines of a log that begin with `what` after the time and level, without those.
pub fn told<'a>(log: &'a str, what: &str) -> Vec<&'a str> {
    log.lines().filter_map(|line| Some(&line[line.find(what)?..])).collect()
}

pub fn numbers(line: &str) -> Vec<u64> {
    let words = line.split(|letter: char| !letter.is_ascii_digit());
    words.filter_map(|word| word.parse().ok()).collect()
}
