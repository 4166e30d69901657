//! `cargo xtask setup`: what the other commands need and this machine may lack. They install it themselves.

mod apt;
pub mod aside;
mod cargo_tool;
pub mod rustup;
pub mod solver;

use std::env;
use std::fmt::Write;
use std::process::{Command, ExitCode};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context, Result, ensure};

pub use cargo_tool::{DEFMT_PRINT, DENY, HACK, MDBOOK};
pub use rustup::TARGETS;

use crate::no_such;
use crate::workspace::{installed, on_path};

/// Something to install.
struct Step {
    name: &'static str,
    why: &'static str,
    /// It is there when all of these programs are.
    programs: &'static [&'static str],
    how: How,
}

enum How {
    /// A component of the active toolchain.
    Component,
    /// A target of the active toolchain.
    Target,
    /// Debian packages.
    Install(&'static [&'static str]),
    /// Debian packages, unpacked below the target folder; see [`aside`].
    Unpack(&'static [&'static str]),
    Solver,
}

const fn step(name: &'static str, why: &'static str, how: How) -> Step {
    Step { name, why, programs: &[], how }
}

impl Step {
    const fn programs(self, programs: &'static [&'static str]) -> Self {
        Self { programs, ..self }
    }
}

const STEPS: [Step; 16] = [
    step("rustfmt", "formats", How::Component).programs(&["fmt"]),
    step("clippy", "lints", How::Component).programs(&["clippy"]),
    step(TARGETS[0], "the npm package and the page", How::Target),
    step(TARGETS[1], "firmware", How::Target),
    step(TARGETS[2], "firmware", How::Target),
    step(TARGETS[3], "firmware", How::Target),
    step(TARGETS[4], "firmware", How::Target),
    step("node", "runs what is built for wasm", How::Install(&["nodejs"])).programs(&["node"]),
    step("npm", "builds and tests the npm package", How::Install(&["npm"])).programs(&["npm"]),
    step("qemu", "runs the firmware images", How::Unpack(&["qemu-system-arm", "qemu-system-misc"]))
        .programs(&["qemu-system-arm", "qemu-system-riscv32"]),
    step(
        "mosquitto",
        "is the MQTT broker that firmware meets",
        How::Unpack(&["mosquitto", "mosquitto-clients"]),
    )
    .programs(&["mosquitto", "mosquitto_sub"]),
    step("redis", "is the Redis server of tests and of a guide", How::Unpack(&["redis-server"]))
        .programs(&["redis-server"]),
    step("chromium", "runs the tests of the page and of tabs", How::Install(&["chromium"]))
        .programs(&["chromium"]),
    step("valgrind", "counts instructions on the host", How::Install(&["valgrind"]))
        .programs(&["valgrind"]),
    step("python", "runs the oracle that writes the vectors", How::Install(&["python3"]))
        .programs(&["python3"]),
    step(solver::NAME, "proves the lemmas", How::Solver),
];
/// How many of them, from the first, `demo`, `lint` and the short suite need.
const NEEDED: usize = 9;

impl Step {
    fn is_there(&self) -> bool {
        match self.how {
            How::Component => self.programs.iter().all(|verb| rustup::has_verb(verb)),
            How::Target => rustup::has_target(self.name),
            How::Install(_) => self.programs.iter().all(|program| on_path(program)),
            How::Unpack(_) => {
                self.programs.iter().all(|program| on_path(program) || aside::holds(program))
            }
            How::Solver => solver::is_there(),
        }
    }

    /// The command that installs it, for messages.
    fn command(&self) -> String {
        match self.how {
            How::Component => format!("rustup component add {}", self.name),
            How::Target => format!("rustup target add {}", self.name),
            How::Install(packages) => format!("apt-get install {}", packages.join(" ")),
            How::Unpack(packages) => {
                format!("apt-get download {}, unpacked below target", packages.join(" "))
            }
            How::Solver => "python3 -m venv, and pip install z3-solver".into(),
        }
    }

    fn bring(&self) -> Result<()> {
        match self.how {
            How::Component => rustup::add("component", self.name),
            How::Target => rustup::add("target", self.name),
            How::Install(packages) => apt::install(packages),
            How::Unpack(packages) => aside::bring(packages),
            How::Solver => solver::bring(),
        }
    }

    /// Installs it if it is missing, and prints that it does. Installers conflict with each other, so one runs at a
    /// time.
    fn take(&self) -> Result<()> {
        static ALONE: Mutex<()> = Mutex::new(());
        if matches!(self.how, How::Solver) {
            need(&["python"])?;
        }
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_there() {
            return Ok(());
        }
        let (name, how, since) = (self.name, self.command(), Instant::now());
        eprintln!("  setup {name}: {how}");
        self.bring().with_context(|| format!("{name} is missing, and `{how}` failed"))?;
        ensure!(self.is_there(), "{name} is missing, and `{how}` had no effect");
        eprintln!("  done  {name} ({} s)", since.elapsed().as_secs());
        Ok(())
    }
}

/// Installs what these steps install, unless it is there.
pub fn need(names: &[&str]) -> Result<()> {
    STEPS.iter().filter(|step| names.contains(&step.name)).try_for_each(Step::take)
}

/// The steps for `--help`, one per line.
pub fn help() -> String {
    let mut help = String::from("Steps:\n");
    for step in &STEPS {
        _ = writeln!(help, "  {:<28} {} ({})", step.name, step.why, step.command());
    }
    let needed = STEPS[..NEEDED].iter().map(|step| step.name).collect::<Vec<_>>();
    _ = write!(help, "Without a step: {}.", needed.join(", "));
    help
}

/// Runs the named steps. A failure does not stop the others.
pub fn run(asked: &[String]) -> Result<ExitCode> {
    let names: Vec<&str> = STEPS.iter().map(|step| step.name).chain(["all"]).collect();
    if let Some(unknown) = asked.iter().find(|step| !names.contains(&&***step)) {
        return Ok(no_such("step", unknown, &names));
    }
    let mut result = ExitCode::SUCCESS;
    for (number, step) in STEPS.iter().enumerate() {
        let by_default = asked.is_empty() && number < NEEDED;
        if !by_default && !asked.iter().any(|asked| asked == step.name || asked == "all") {
            continue;
        }
        match (step.is_there(), step.take()) {
            (true, _) => eprintln!("  there {}", step.name),
            (false, Ok(())) => (),
            (false, Err(error)) => {
                eprintln!("xtask: {error:#}.");
                result = ExitCode::FAILURE;
            }
        }
    }
    Ok(result)
}

/// Names the browser to a test in Node, unless the user does.
pub fn browser(test: &mut Command) {
    if let (None, Some(path)) = (env::var_os("CHROMIUM"), installed("chromium")) {
        test.env("CHROMIUM", path);
    }
}
