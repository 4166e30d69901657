//! The gate for async Rust and every supported client, against real servers.

use crate::road::Roads;
use crate::tally::Tally;
use crate::workspace::root;

use super::cargo_test;

const WASM: &str = "wasm32-unknown-unknown";

pub fn run(roads: &mut Roads, tally: &mut Tally) {
    quick(roads, tally);
    tally.tests("async-openai and octocrab", cargo_test("tidegate-tower-sdks", &[]));
    tally.tests("the bench", cargo_test("tidegate-tower-bench", &[]));
    match roads.to(WASM) {
        Ok(road) => {
            let mut command = road.cargo("clippy", WASM, root());
            command.args(["--package", "tidegate-tower-worker", "--", "-D", "warnings"]);
            tally.check("clippy, a Cloudflare worker", command);
        }
        Err(error) => tally.verdict(WASM, || Err(error)),
    }
}

/// The crate's tests, with all features.
pub fn quick(_: &mut Roads, tally: &mut Tally) {
    tally.tests("the crate and its examples", cargo_test("tidegate-tower", &["--all-features"]));
}
