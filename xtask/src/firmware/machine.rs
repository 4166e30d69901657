//! One run of an image in QEMU, and its log.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};

use super::Board;
use crate::children::Program;
use crate::progress;
use crate::setup;
use crate::workspace::root;

/// How long QEMU may take to end after its log.
const GRACE: Duration = Duration::from_secs(5);

/// What to run, and how.
pub struct Run<'a> {
    /// Its name in messages.
    pub name: &'a str,
    pub board: Board,
    /// The folder of the images.
    pub folder: &'a Path,
    pub image: &'a str,
    /// More arguments for QEMU.
    pub options: Vec<String>,
    /// A run that takes longer has failed.
    pub limit: Duration,
}

impl Run<'_> {
    /// Runs it to its end, which must be successful, and returns its log. `see` receives each line
    /// as it is written.
    pub fn to_its_end(&self, see: impl FnMut(&str)) -> Result<String> {
        let board = self.board.name();
        let file = format!("{}-{board}", self.name).replace([' ', ','], "");
        let trouble = self.root().join(format!("{file}.err"));
        let mut qemu = self.start(&trouble)?;
        let log = qemu.0.stdout.take().context("QEMU has no output")?;
        let mut print = setup::tool("defmt-print")?;
        print.arg("-e").arg(self.folder.join(super::package(self.image))).arg("stdin");
        let label = format!("{} on {board}", self.name);
        let ended = progress::watch(&label, print, log.into(), Some(self.limit), see)?;
        let status = qemu.end(if ended.status.is_some() { GRACE } else { Duration::ZERO })?;
        let kept = self.root().join(format!("{file}.log"));
        fs::write(&kept, &ended.output).with_context(|| kept.display().to_string())?;
        let why = match (ended.status, status.and_then(|status| status.code())) {
            (None, _) => format!("did not end within {} s", self.limit.as_secs()),
            (_, Some(1)) => "reports a failed check".into(),
            (_, Some(101)) => "has panicked".into(),
            (_, Some(102)) => "stopped at a hard fault".into(),
            (_, Some(103)) => "received an unexpected interrupt".into(),
            (Some(decoded), _) if !decoded.success() => {
                format!("has a log that defmt-print cannot decode ({decoded})")
            }
            (_, Some(0)) => return Ok(ended.output),
            _ => match status {
                Some(status) => format!("ended with {status}"),
                None => "did not end after its log".into(),
            },
        };
        let said = fs::read_to_string(&trouble).unwrap_or_default();
        Err(anyhow!("{label} {why}; its log, kept in {}:\n{}{said}", kept.display(), ended.output))
    }

    fn start(&self, trouble: &Path) -> Result<Program> {
        let program = match self.board {
            Board::Microbit | Board::Mps2 => "qemu-system-arm",
            Board::Virt => "qemu-system-riscv32",
        };
        let mut qemu = super::qemu(program, self.board.name());
        qemu.args(["-semihosting-config", "enable=on,target=native"]);
        if self.board == Board::Virt {
            // As bare as the target: multiplication and short instructions, nothing more.
            qemu.args(["-bios", "none", "-cpu", "rv32,a=false,f=false,d=false"]);
        }
        qemu.args(&self.options).arg("-kernel").arg(self.folder.join(super::package(self.image)));
        fs::create_dir_all(self.root())?;
        qemu.stdout(Stdio::piped()).stderr(File::create(trouble)?);
        Program::tool(&mut qemu).with_context(|| {
            format!("{program} does not start; `cargo xtask setup qemu` installs it")
        })
    }

    fn root(&self) -> PathBuf {
        root().join("target/firmware")
    }
}

/// The lines of a log that begin with `what` after the time and level, without those.
pub fn told<'a>(log: &'a str, what: &str) -> Vec<&'a str> {
    log.lines().filter_map(|line| Some(&line[line.find(what)?..])).collect()
}

/// The numbers in a line, in order.
pub fn numbers(line: &str) -> Result<Vec<u64>> {
    let words = line.split(|letter: char| !letter.is_ascii_digit());
    let numbers = words.filter(|word| !word.is_empty()).map(str::parse);
    match numbers.collect::<Result<Vec<u64>, _>>() {
        Ok(numbers) if !numbers.is_empty() => Ok(numbers),
        _ => bail!("there is no number in `{line}`"),
    }
}
