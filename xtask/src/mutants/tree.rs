//! A copy of the workspace whose core contains every change, and its tests.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::change::{Source, culprits};
use crate::progress;
use crate::workspace::{cargo, root};

/// Says which change is active. The environment names it; the compiler itself evaluates constants
/// without any.
const ACTIVE: &str = r#"
#[doc(hidden)]
pub mod mutant {
    extern crate std;
    use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
    const UNKNOWN: u32 = u32::MAX;
    const RECORD: u32 = u32::MAX - 1;
    static ACTIVE: AtomicU32 = AtomicU32::new(UNKNOWN);
    static REACHED: [AtomicBool; PLACES] = [const { AtomicBool::new(false) }; PLACES];
    pub const fn at(place: u32) -> u32 {
        core::intrinsics::const_eval_select((place,), none, active)
    }
    pub const fn is(change: u32) -> bool { at(change) == change }
    const fn none(_: u32) -> u32 { 0 }
    #[inline]
    fn active(place: u32) -> u32 {
        let active = ACTIVE.load(Relaxed);
        if active >= RECORD { slow(place, active) } else { active }
    }
    #[cold]
    fn slow(place: u32, mut active: u32) -> u32 {
        if active == UNKNOWN {
            active = match std::env::var("TIDEGATE_MUTANT") {
                Ok(number) => number.parse().unwrap(),
                Err(_) if std::env::var_os("TIDEGATE_REACHED").is_some() => RECORD,
                Err(_) => 0,
            };
            ACTIVE.store(active, Relaxed);
        }
        if active != RECORD { return active; }
        if !REACHED[place as usize].swap(true, Relaxed) {
            use std::io::Write;
            let file = std::env::var_os("TIDEGATE_REACHED").unwrap();
            let mut file = std::fs::OpenOptions::new().append(true).create(true).open(file).unwrap();
            file.write_all(std::format!("{place}\n").as_bytes()).unwrap();
        }
        0
    }
}
"#;
const FEATURES: &str =
    "#![feature(core_intrinsics, const_eval_select)]\n#![allow(internal_features)]\n";
/// The packages whose tests must detect a change: the core's, the oracle's vectors, the promises.
const PACKAGES: [&str; 3] = ["tidegate", "tidegate-conformance", "tidegate-promises"];

/// The source files of the core, with their changes.
pub struct Tree {
    folder: PathBuf,
    /// By the path relative to core/src.
    pub sources: Vec<(String, Source)>,
    /// Changes that do not compile.
    pub unbuilt: BTreeSet<u32>,
}

/// A program of tests.
#[derive(Clone, Debug)]
pub struct Program {
    pub file: PathBuf,
    /// Where it runs: the folder of its package.
    pub folder: PathBuf,
}

impl Tree {
    /// Reads the core and links everything else.
    pub fn read() -> Result<Self> {
        let folder = root().join("target/mutants/tree");
        link(root(), &folder, &["core", "target", ".git", ".cargo"])?;
        link(&root().join("core"), &folder.join("core"), &["src", "proptest-regressions"])?;
        let mut files = Vec::new();
        walk(&root().join("core/src"), "", &mut files)?;
        let (mut sources, mut first) = (Vec::new(), 1);
        for file in files {
            let path = root().join("core/src").join(&file);
            let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            let source = Source::read(text, first).with_context(|| path.display().to_string())?;
            first += u32::try_from(source.changes().count())?;
            sources.push((file, source));
        }
        Ok(Self { folder, sources, unbuilt: BTreeSet::new() })
    }

    /// The number that a test records when it reaches this change.
    pub fn recorded_as(&self, change: u32) -> u32 {
        let source = self.sources.iter().find(|(_, source)| source.numbers().contains(&change));
        source.map_or(change, |(_, source)| source.recorded_as(change, &self.unbuilt))
    }

    /// Writes the core and builds its tests, without the changes that do not compile.
    pub fn build(&mut self) -> Result<Vec<Program>> {
        loop {
            self.write()?;
            let mut check = self.cargo("check");
            check.args(["--package", PACKAGES[0], "--all-features", "--lib"]);
            let checked = progress::run("checking the changes", check, None)?;
            if checked.success() {
                break;
            }
            let before = self.unbuilt.len();
            let mut others = Vec::new();
            for message in messages(&checked.output).filter(|message| message["level"] == "error") {
                let culprits = self.culprits(&message);
                if culprits.is_empty() {
                    others.push(message["rendered"].as_str().unwrap_or_default().to_owned());
                }
                self.unbuilt.extend(culprits);
            }
            if self.unbuilt.len() == before {
                bail!("the core does not build:\n{}\n{}", others.join("\n"), checked.reason());
            }
        }
        let mut test = self.cargo("test");
        test.args(["--no-run", "--all-features", "--lib", "--tests"]);
        PACKAGES.iter().for_each(|package| _ = test.args(["--package", package]));
        let built = progress::run("building the tests", test, None)?;
        if !built.success() {
            let rendered = messages(&built.output).filter(|message| message["level"] == "error");
            let rendered = rendered.map(|m| m["rendered"].as_str().unwrap_or_default().to_owned());
            bail!("the tests do not build: {}\n{}", built.reason(), rendered.collect::<String>());
        }
        Ok(rows(&built.output).filter_map(|row| program(&row)).collect())
    }

    fn write(&self) -> Result<()> {
        let places = 1 + self.sources.iter().map(|(_, s)| s.changes().count()).sum::<usize>();
        for (file, source) in &self.sources {
            let mut text = source.write(&self.unbuilt);
            if file == "lib.rs" {
                let active = ACTIVE.replace("PLACES", &places.to_string());
                text = format!("{FEATURES}{text}{active}");
            }
            let path = self.folder.join("core/src").join(file);
            // What has not changed keeps its time, so that cargo does not build it again.
            if fs::read_to_string(&path).ok().as_ref() != Some(&text) {
                fs::create_dir_all(path.parent().unwrap_or(&self.folder))?;
                fs::write(&path, text).with_context(|| path.display().to_string())?;
            }
        }
        let source = root().join("core/src");
        // Files that the source includes, such as Markdown.
        link_others(&source, &self.folder.join("core/src"))
    }

    /// The changes that a compiler error comes from: what it points at, else what it mentions.
    fn culprits(&self, message: &Value) -> BTreeSet<u32> {
        let spans = |primary: bool| {
            let spans = message["spans"].as_array().into_iter().flatten();
            self.changes_at(spans.filter(|span| span["is_primary"] == primary))
        };
        let pointed_at = spans(true);
        if pointed_at.is_empty() { spans(false) } else { pointed_at }
    }

    fn changes_at<'a>(&self, spans: impl Iterator<Item = &'a Value>) -> BTreeSet<u32> {
        spans
            .flat_map(|span| {
                let name = span["file_name"].as_str().unwrap_or_default();
                let file = name.strip_prefix("core/src/").unwrap_or_default();
                let source = self.sources.iter().find(|(path, _)| path == file);
                let text = fs::read_to_string(self.folder.join(name)).unwrap_or_default();
                let offset = span["byte_start"].as_u64().and_then(|at| usize::try_from(at).ok());
                source.zip(offset).map_or_else(Vec::new, |((_, source), offset)| {
                    culprits(&text, offset, &source.places().collect::<Vec<_>>())
                })
            })
            .collect()
    }

    fn cargo(&self, verb: &str) -> Command {
        let mut command = cargo(verb);
        command.current_dir(&self.folder).args(["--message-format", "json", "--locked"]);
        command.arg("--target-dir").arg(root().join("target/mutants/build"));
        // One build serves all changes, so optimisation pays. The checks of `dev` stay on.
        command.envs([
            ("CARGO_PROFILE_DEV_OPT_LEVEL", "1"),
            ("CARGO_PROFILE_DEV_DEBUG", "0"),
            ("RUSTFLAGS", "--cap-lints=allow"),
            // For `const_eval_select`, which stable compilers keep for the standard library.
            ("RUSTC_BOOTSTRAP", "tidegate"),
        ]);
        command
    }
}

fn rows(output: &str) -> impl Iterator<Item = Value> {
    output.lines().filter_map(|line| serde_json::from_str(line).ok())
}

fn messages(output: &str) -> impl Iterator<Item = Value> {
    rows(output).filter(|row| row["reason"] == "compiler-message").map(|row| row["message"].clone())
}

/// The program that a row of cargo's output reports.
fn program(row: &Value) -> Option<Program> {
    let test = row["profile"]["test"] == true;
    let file = row["executable"].as_str().filter(|_| test)?;
    let folder = Path::new(row["manifest_path"].as_str()?).parent()?;
    Some(Program { file: file.into(), folder: folder.into() })
}

/// Links what is in `from` into `to`, except some names.
fn link(from: &Path, to: &Path, except: &[&str]) -> Result<()> {
    fs::create_dir_all(to).with_context(|| to.display().to_string())?;
    for entry in fs::read_dir(from).with_context(|| from.display().to_string())? {
        let entry = entry?;
        if !except.iter().any(|name| entry.file_name() == *name) {
            link_one(&entry.path(), &to.join(entry.file_name()))?;
        }
    }
    Ok(())
}

fn link_one(from: &Path, to: &Path) -> Result<()> {
    if fs::read_link(to).is_ok_and(|linked| linked == from) {
        return Ok(());
    }
    // The workspace may have moved.
    _ = fs::remove_file(to);
    symlink(from, to).with_context(|| to.display().to_string())
}

fn link_others(from: &Path, to: &Path) -> Result<()> {
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let to = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            link_others(&path, &to)?;
        } else if path.extension().is_none_or(|extension| extension != "rs") {
            link_one(&path, &to)?;
        }
    }
    Ok(())
}

/// The Rust files below `folder`, relative to it and in order.
pub fn walk(folder: &Path, below: &str, files: &mut Vec<String>) -> io::Result<()> {
    let entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    let mut names: Vec<_> =
        entries.iter().map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    for name in names {
        let (path, relative) = (folder.join(&name), format!("{below}{name}"));
        if path.is_dir() {
            walk(&path, &format!("{relative}/"), files)?;
        } else if name.ends_with(".rs") {
            files.push(relative);
        }
    }
    Ok(())
}
