//! `tidegate-sim worlds`: draws worlds, runs laws in them, and reports the results.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use tidegate_sim::controllers;
use tidegate_sim::worlds::{self, Drawn, Family, Figures, Hints, Purpose, Settings};

#[derive(Args)]
pub struct Worlds {
    /// The seed of the worlds
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Draw development worlds, which are independent of the worlds of the committed table
    #[arg(long)]
    dev: bool,
    /// The number of worlds
    #[arg(long, value_name = "N", default_value_t = 100)]
    worlds: u32,
    /// Laws, separated by commas
    #[arg(long = "law", value_name = "LAW,...", value_delimiter = ',', default_value = "adaptive", value_parser = law)]
    laws: Vec<String>,
    /// Draw worlds with mixed traffic instead: noise, strangers, bad calls and others
    #[arg(long, conflicts_with = "family")]
    mixed: bool,
    /// Draw only worlds of this family
    #[arg(long, value_parser = |name: &str| one(&Family::ALL, Family::name, name))]
    family: Option<Family>,
    /// Sets of hints, separated by commas [default: all but reset and quota]
    #[arg(long, value_name = "SET,...", value_delimiter = ',', value_parser = |name: &str| one(&Hints::ALL, Hints::name, name))]
    hints: Vec<Hints>,
    /// Runs of each world
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=1000))]
    runs: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Write worlds.md and worlds.svg to a folder
    #[arg(long, value_name = "DIR", conflicts_with = "json")]
    out: Option<PathBuf>,
    /// Write the scenario files to a folder and run nothing
    #[arg(long, value_name = "DIR", conflicts_with_all = ["json", "out"])]
    write: Option<PathBuf>,
}

fn law(name: &str) -> Result<String, String> {
    let unknown = || format!("the laws are {}", controllers::names().join(", "));
    controllers::is_known(name).then(|| name.to_owned()).ok_or_else(unknown)
}

fn one<T: Copy>(all: &[T], called: fn(T) -> &'static str, name: &str) -> Result<T, String> {
    let names = || all.iter().map(|one| called(*one)).collect::<Vec<_>>().join(", ");
    let found = all.iter().copied().find(|one| called(*one) == name);
    found.ok_or_else(|| format!("choose one of {}", names()))
}

impl Worlds {
    pub fn run(&self) -> Result<()> {
        let purpose = if self.dev { Purpose::Development } else { Purpose::Validation };
        let draw = |(family, index)| worlds::draw(purpose, self.seed, family, index);
        let turn = match &self.family {
            Some(family) => std::slice::from_ref(family),
            None if self.mixed => worlds::MIXED,
            None => &worlds::TURN[..],
        };
        let drawn: Vec<Drawn> = worlds::plan(self.worlds, turn).into_iter().map(draw).collect();
        let sets = if self.hints.is_empty() { Hints::USUAL.to_vec() } else { self.hints.clone() };
        if let Some(directory) = &self.write {
            return write(&drawn, &sets, directory);
        }
        let settings = Settings { laws: self.laws.clone(), hints: sets, seeds: self.runs };
        let results = worlds::run(&drawn, &settings)?;
        let figures = Figures::new(&drawn, &settings, &results);
        let page = worlds::page(purpose, self.seed, &settings, &figures);
        if let Some(directory) = &self.out {
            save(&page, &directory.join("worlds.md"))?;
            save(&worlds::picture(&figures)?, &directory.join("worlds.svg"))?;
        }
        let mut out = io::stdout().lock();
        if self.json {
            let mut all = serde_json::to_value(&figures)?;
            all["purpose"] = purpose.name().into();
            all["seed"] = self.seed.into();
            all["runs"] = self.runs.into();
            writeln!(out, "{all}")?;
        } else {
            write!(out, "{page}")?;
        }
        for failed in &results.failed {
            eprintln!("{} with law {}: {}", failed.scenario, failed.law, failed.why);
        }
        match results.failed.len() {
            0 => Ok(()),
            failed => bail!("{failed} runs broke"),
        }
    }
}

fn write(drawn: &[Drawn], sets: &[Hints], directory: &Path) -> Result<()> {
    std::fs::create_dir_all(directory)
        .with_context(|| format!("cannot create the directory {}", directory.display()))?;
    for world in drawn {
        for &hints in sets {
            save(&world.text(hints), &directory.join(world.file(hints) + ".toml"))?;
        }
    }
    eprintln!("{} files are in {}", drawn.len() * sets.len(), directory.display());
    Ok(())
}

fn save(text: &str, file: &Path) -> Result<()> {
    std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}
