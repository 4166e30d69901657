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

/// The steps, and how each is installed.
const TABLE: &str = include_str!("steps.txt");

struct Step {
    name: &'static str,
    is_default: bool,
    how: &'static str,
    packages: Vec<&'static str>,
    /// It is there when all of these are: programs, subcommands of cargo or a target.
    holds: Vec<&'static str>,
    why: &'static str,
}

fn steps() -> impl Iterator<Item = Step> {
    TABLE.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let mut cells = line.split('|').map(str::trim);
        let [name, how, packages, holds, why] = [(); 5].map(|()| cells.next().unwrap_or_default());
        let [packages, holds] = [packages, holds].map(|names| names.split(' ').collect());
        let is_default = name.ends_with('*');
        Step { name: name.trim_end_matches('*'), is_default, how, packages, holds, why }
    })
}

impl Step {
    fn is_there(&self) -> bool {
        let is_there: fn(&str) -> bool = match self.how {
            "target" => rustup::has_target,
            "component" => rustup::has_verb,
            "pip" => |_| pip::is_there(),
            _ => on_path,
        };
        self.holds.iter().all(|names| names.split('/').any(is_there))
    }

    /// The command that installs it, for messages.
    fn command(&self) -> String {
        let packages = self.packages.join(" ");
        match self.how {
            "install" => format!("apt-get install {packages}"),
            "unpack" => format!("apt-get download {packages}, unpacked below target"),
            "pip" => format!("pip install {packages}, below target"),
            kind => format!("rustup {kind} add {packages}"),
        }
    }

    fn bring(&self) -> Result<()> {
        match self.how {
            "install" => install(&self.packages),
            "unpack" => aside::bring(&self.packages, &self.holds),
            "pip" => pip::bring(),
            kind => rustup::rustup(&[kind, "add", self.name]),
        }
    }

    /// Installs it if it is missing, and prints that it does. Installers conflict with each other, so one runs at a
    /// time.
    fn take(&self) -> Result<()> {
        static ALONE: Mutex<()> = Mutex::new(());
        if self.how == "pip" {
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
    steps().filter(|step| names.contains(&step.name)).try_for_each(|step| step.take())
}

/// The steps for `--help`, one per line.
pub fn help() -> String {
    let mut help = String::from("Steps:\n");
    for step in steps() {
        _ = writeln!(help, "  {:<28} {} ({})", step.name, step.why, step.command());
    }
    let needed: Vec<_> = steps().filter(|it| it.is_default).map(|it| it.name).collect();
    _ = write!(help, "Default: {}.", needed.join(", "));
    help
}

/// What can be named.
pub fn names() -> Vec<&'static str> {
    steps().map(|step| step.name).chain(["all"]).collect()
}

/// Runs the named steps. A failure does not stop the others.
pub fn run(asked: &[String]) -> Result<ExitCode> {
    let is_asked = |step: &Step| match asked {
        [] => step.is_default,
        asked => asked.iter().any(|asked| asked == step.name || asked == "all"),
    };
    let mut result = ExitCode::SUCCESS;
    for step in steps().filter(is_asked) {
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
