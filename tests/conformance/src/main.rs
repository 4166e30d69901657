//! Replays all vectors on this machine, and prints their number.

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
    let mut files = Vec::new();
    for entry in fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            files.push(path);
        }
    }
    files.sort();

    println!("{:<14} {:>8} {:>8} {:>12}", "file", "vectors", "steps", "differences");
    let (mut vectors, mut steps, mut differences) = (0, 0, Vec::new());
    for file in &files {
        let (mut here, mut steps_here, mut different) = (0, 0, 0);
        for line in fs::read_to_string(file)?.lines() {
            here += 1;
            match play(line) {
                Ok(steps) => steps_here += steps,
                Err(difference) => {
                    different += 1;
                    differences.push(difference);
                }
            }
        }
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        println!("{name:<14} {here:>8} {steps_here:>8} {different:>12}");
        (vectors, steps) = (vectors + here, steps + steps_here);
    }
    println!("{:<14} {vectors:>8} {steps:>8} {:>12}", "all", differences.len());
    for difference in differences.iter().take(TOLD) {
        eprintln!("{difference}");
    }
    let whole = differences.is_empty() && vectors > 0;
    Ok(if whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
