//! `cargo xtask`: sets up, runs and checks tidegate, on a laptop and in CI.

mod bench;
mod children;
mod demo;
mod links;
mod npm;
mod page;
mod programs;
mod progress;
mod release;
mod setup;
mod site;
mod tally;
mod test;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Sets up, runs and checks tidegate.
#[derive(Parser)]
#[command(name = "xtask", bin_name = "cargo xtask", arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Install what is missing
    #[command(after_help = setup::help())]
    Setup {
        /// The steps to run; `all` runs every one [default: what `demo`, `lint` and the short suite need]
        #[arg(value_name = "STEP", value_parser = setup::names(), hide_possible_values = true)]
        steps: Vec<String>,
    },

    /// Run a fleet of real clients against a real rate-limited API on this machine
    ///
    /// All arguments after `demo` are passed to it; `cargo xtask demo --help` lists them.
    #[command(disable_help_flag = true)]
    Demo {
        /// Options of the demo
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<std::ffi::OsString>,
    },

    /// Build what is published: the npm package, or the web page
    Build { what: npm::Product },

    /// Run the tests: the short suite, the named parts, or all parts
    #[command(after_help = test::help())]
    Test {
        /// The parts to run, each in full; `all` runs every one [default: the short suite]
        #[arg(value_name = "PART", value_parser = test::names(), hide_possible_values = true)]
        parts: Vec<String>,
    },

    /// Measure the laws, cost, size and the page, and compare with other throttles
    ///
    /// Each command writes the files in tests/golden with its name. Explain changed figures in the commit.
    Bench {
        #[command(subcommand)]
        what: bench::Bench,
    },

    /// Check formatting, clippy for the host and every target (warnings are errors), scripts and the CI workflows
    Lint,

    /// Build the documentation into target/site: guides, crates, npm package and demo page
    Site,

    /// Build and check everything that is published, into target/release-artifacts, and print the commands that publish it
    ///
    /// It publishes nothing itself. It fails if CHANGELOG.md has no dated section for the version, if the tree has
    /// uncommitted changes, or if one of these values is missing in Cargo.toml:
    ///
    /// `repository` in `[workspace.package]`: the address of the public repository. The crates inherit it, the npm
    /// package must have the same value, and the site links to its source files.
    ///
    /// `published` in `[workspace.metadata.tidegate]`: whether npm and crates.io have the packages. Install lines,
    /// badges and links depend on it.
    Release(release::Release),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = children::listen().map_err(Into::into).and_then(|()| match cli.verb {
        Verb::Setup { steps } => setup::run(&steps),
        Verb::Demo { args } => demo::run(args),
        Verb::Build { what } => npm::run(what),
        Verb::Test { parts } => test::run(&parts),
        Verb::Bench { what } => bench::run(what),
        Verb::Site => site::run(),
        Verb::Release(release) => release::run(&release),
        Verb::Lint => test::run(&["lint".into()]),
    });
    result.unwrap_or_else(|error| {
        eprintln!("xtask: {error:#}");
        ExitCode::FAILURE
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn arguments_after_demo_belong_to_the_demo() {
        for args in [&["--help"][..], &["--law", "none"], &["--json", "--", "-x"], &["help"], &[]] {
            let line = ["cargo xtask", "demo"].iter().chain(args);
            let cli = Cli::try_parse_from(line).unwrap();
            let Verb::Demo { args: passed } = cli.verb else { panic!("not the demo") };
            assert_eq!(passed, args);
        }
    }
}
