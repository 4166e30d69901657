//! Packs and unpacks the corpus of a target, and tries a single input.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs, io};

use tidegate_fuzz::{pack, target};

const USAGE: &str = "\
corpus unpack TARGET     writes one file per input, for the search
corpus pack TARGET       writes all of these files into one
corpus try TARGET FILE   tries a single input";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        ["unpack", name] => places(name).and_then(|(folder, file)| unpack(&file, &folder)),
        ["pack", name] => places(name).and_then(|(folder, file)| pack(&folder, &file)),
        ["try", name, file] => try_one(name, Path::new(file)),
        _ => Err(io::Error::other(format!("usage:\n{USAGE}"))),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("corpus: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The folder that cargo-fuzz uses, and the packed file.
fn places(name: &str) -> io::Result<(PathBuf, PathBuf)> {
    target(name).map_err(io::Error::other)?;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
    Ok((folder.clone(), folder.with_extension("pack")))
}

fn unpack(file: &Path, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for (number, input) in pack::read(file)?.into_iter().enumerate() {
        fs::write(folder.join(format!("{number:05}")), input)?;
    }
    Ok(())
}

fn pack(folder: &Path, file: &Path) -> io::Result<()> {
    let paths: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    let inputs = paths.iter().map(fs::read).collect::<io::Result<Vec<_>>>()?;
    println!("{} inputs", inputs.len());
    pack::write(file, inputs)
}

fn try_one(name: &str, file: &Path) -> io::Result<()> {
    let target = target(name).map_err(io::Error::other)?;
    tidegate_promises::tell_of_events();
    target(&fs::read(file)?);
    println!("{}: every promise of `{name}` holds", file.display());
    Ok(())
}
