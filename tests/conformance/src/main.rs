//! Replays all vectors of a folder on this machine, and prints their number.

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use std::{env, fs};

use tidegate_conformance::play;

/// The maximum number of differences to print.
const TOLD: usize = 20;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../vectors");
    let folder = env::args_os().nth(1).map_or(folder, Into::into);
    let (mut vectors, mut steps, mut differences) = (0, 0, Vec::new());
    for entry in fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "jsonl") {
            continue;
        }
        for line in fs::read_to_string(path)?.lines() {
            vectors += 1;
            match play(line) {
                Ok(played) => steps += played,
                Err(difference) => differences.push(difference),
            }
        }
    }
    println!("all {vectors} {steps} {}", differences.len());
    for difference in differences.iter().take(TOLD) {
        eprintln!("{difference}");
    }
    let whole = differences.is_empty() && vectors > 0;
    Ok(if whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
