//! The vectors as a test, for mutation testing, which only runs tests.

use std::fs;
use std::path::Path;

use tidegate_conformance::play;

#[test]
fn core_gives_the_answers_of_the_oracle() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../vectors");
    let mut played = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            for line in fs::read_to_string(path).unwrap().lines() {
                play(line).unwrap();
                played += 1;
            }
        }
    }
    assert!(played > 1000, "only {played} vectors");
}
