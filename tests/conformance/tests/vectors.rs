//! The vectors as a test, for whoever runs tests only: the search for mutants does.

use std::fs;
use std::path::Path;

use tidegate_conformance::play;

#[test]
fn every_vector_is_answered_as_the_oracle_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../vectors");
    let mut played = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            for line in fs::read_to_string(&path).unwrap().lines() {
                play(line).unwrap();
                played += 1;
            }
        }
    }
    assert!(played > 5_000, "there are {played} vectors only");
}
