//! Replays the vectors, or with `TIDEGATE_VECTORS` those of another folder of the repository.

use std::path::Path;
use std::{env, fs};

use tidegate_conformance::play;

/// The maximum number of differences to print.
const TOLD: usize = 20;

#[test]
fn core_gives_the_answers_of_the_oracle() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let given = env::var_os("TIDEGATE_VECTORS");
    let least = if given.is_some() { 1 } else { 4_000 };
    let folder = given.unwrap_or("tests/vectors".into());
    let (mut played, mut differences) = (0, Vec::new());
    for entry in fs::read_dir(root.join(folder)).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            for line in fs::read_to_string(path).unwrap().lines() {
                differences.extend(play(line).err());
                played += 1;
            }
        }
    }
    differences.truncate(TOLD);
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert!(played >= least, "only {played} vectors");
}
