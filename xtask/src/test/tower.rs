//! The gate for async Rust and every supported client, against real servers.

use crate::bench::tower;
use crate::road::Roads;
use crate::tally::Tally;
use crate::workspace::{cargo, root};

use super::cargo_test;

const NAME: &str = "tidegate-tower";
const WASM: &str = "wasm32-unknown-unknown";

pub fn run(roads: &mut Roads, tally: &mut Tally) {
    quick(roads, tally);
    let mut doc = cargo("doc");
    doc.args(["--package", NAME, "--no-deps", "--all-features"]);
    doc.env("RUSTDOCFLAGS", "-D warnings");
    tally.check("cargo doc", doc);
    clients(roads, tally);
    bench(tally);
}

/// The crate's tests, with all features.
pub fn quick(_: &mut Roads, tally: &mut Tally) {
    tally.tests("the crate and its examples", cargo_test(NAME, &["--all-features"]));
}

/// Third-party SDKs, and a Cloudflare worker with a custom timer, in a separate workspace.
fn clients(roads: &mut Roads, tally: &mut Tally) {
    let folder = root().join("tower/clients");
    let within = |verb: &str, more: &[&str]| {
        let mut command = cargo(verb);
        command.args(["--locked", "--package", "tidegate-tower-sdks"]).args(more);
        command.current_dir(&folder);
        command
    };
    tally.tests("async-openai and octocrab", within("test", &[]));
    tally.check("clippy, the SDKs", within("clippy", &["--all-targets", "--", "-D", "warnings"]));
    let mut format = cargo("fmt");
    format.args(["--all", "--check", "--", "--color=never"]).current_dir(&folder);
    tally.check("formatting, the clients", format);
    match roads.to(WASM) {
        Ok(road) => {
            let mut command = road.cargo("clippy", WASM, &folder);
            command.args([
                "--locked",
                "--package",
                "tidegate-tower-worker",
                "--",
                "-D",
                "warnings",
            ]);
            tally.check("clippy, a Cloudflare worker", command);
        }
        Err(error) => tally.verdict(WASM, || Err(error)),
    }
}

/// The comparison with other crates, in a separate workspace.
fn bench(tally: &mut Tally) {
    let within = |verb: &str, more: &[&str]| {
        let mut command = cargo(verb);
        command.args(more).current_dir(tower::folder());
        command
    };
    tally.tests("the bench", within("test", &["--locked"]));
    let strict = ["--locked", "--all-targets", "--", "-D", "warnings"];
    tally.check("clippy, the bench", within("clippy", &strict));
    tally.check("formatting, the bench", within("fmt", &["--check", "--", "--color=never"]));
}
