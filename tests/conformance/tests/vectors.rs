//! The vectors as tests, one per file, for mutation testing, which only runs tests.

use std::fs;
use std::path::{Path, PathBuf};

use tidegate_conformance::play;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../vectors")
}

macro_rules! files {
    ($($name:ident)*) => {
        const FILES: &[&str] = &[$(stringify!($name)),*];

        $(#[test]
        fn $name() {
            let file = stringify!($name).replace('_', "-") + ".jsonl";
            let vectors = fs::read_to_string(folder().join(file)).unwrap();
            assert!(vectors.lines().count() > 10, "a file is almost empty");
            vectors.lines().for_each(|line| _ = play(line).unwrap());
        })*
    };
}

files! {
    adaptive aimd aimd_concurrency autosleeper bodies codes fixed gates heroku http queues
    schedules tchannel vegas
}

#[test]
fn every_file_of_vectors_is_played() {
    let entries = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let mut names: Vec<String> = entries
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().replace('-', "_"))
        .collect();
    names.sort();
    assert_eq!(names, FILES);
}
