//! Runs laws in random worlds, on all cores.

use std::collections::BTreeMap;
use std::rc::Rc;

use tidegate::Instant;

use super::{Drawn, Family, Hints, Score};
use crate::chance::Stream;
use crate::metric::share;
use crate::place::{Place, outlook};
use crate::runner::each;
use crate::server::{Server, seconds};
use crate::{Scenario, ScenarioError, World, controllers};

#[derive(Clone, Debug)]
pub struct Settings {
    pub laws: Vec<String>,
    /// The sets of hints. Without [`Hints::Blind`] no harm can be determined.
    pub hints: Vec<Hints>,
    /// How often each world is run, with other arrivals, latencies and law seeds.
    pub seeds: u64,
}

/// The law whose calls never wait. If it is not throttled, no law has a reason to wait.
pub const HAMMER: &str = "none";
/// The peer that knows the server and reads no hint.
const ORACLE: &str = "oracle";
/// The same that does what the server says.
const OBEDIENT: &str = "oracle-obedient";
/// The offset of the laws' seeds in the second run without hints.
const OTHER_DICE: u64 = 1_000_000;

#[derive(Debug, Default)]
pub struct Results {
    /// The score by world (its index), law (its index in the settings) and hints.
    pub scores: BTreeMap<(usize, usize, Hints), Score>,
    /// The score of a second run without hints by world and law.
    pub again: BTreeMap<(usize, usize), Score>,
    /// The score of the law that latency is relative to: [`HAMMER`] in worlds whose clients request
    /// less than the limit, and the oracle in others.
    pub least: BTreeMap<usize, Score>,
    /// The score of the obedient oracle without a hint and with `Retry-After`, by world. Every
    /// client that obeys loses the same by the hint.
    pub obedient: BTreeMap<(usize, Hints), Score>,
    pub failed: Vec<Failed>,
}

/// A run that violated a promise.
#[derive(Clone, Debug)]
pub struct Failed {
    pub scenario: String,
    pub law: String,
    pub why: String,
}

#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum For {
    Score(usize, Hints),
    Again(usize),
    Obedient(Hints),
    Least,
}

/// Runs everything in `settings`. The results do not depend on the number of cores.
pub fn run(worlds: &[Drawn], settings: &Settings) -> Result<Results, ScenarioError> {
    let parse = |world: &Drawn, hints| {
        let file = world.file(hints);
        Scenario::parse(&world.text(hints), &file, &file)
    };
    let all = worlds.iter().map(|world| Hints::ALL.map(|hints| parse(world, hints)));
    let scenarios: Vec<Vec<Scenario>> =
        all.map(|sets| sets.into_iter().collect()).collect::<Result<_, _>>()?;
    let jobs: Vec<(usize, For, u64)> = (0..worlds.len())
        .flat_map(|world| purposes(&worlds[world], settings).map(move |what| (world, what)))
        .flat_map(|(world, what)| (1..=settings.seeds).map(move |seed| (world, what, seed)))
        .collect();
    let done = each(&jobs, |&(world, what, seed)| {
        let (law, hints, dice) = match what {
            For::Score(law, hints) => (settings.laws[law].as_str(), hints, seed),
            For::Again(law) => (settings.laws[law].as_str(), Hints::Blind, seed + OTHER_DICE),
            For::Obedient(hints) => (OBEDIENT, hints, seed),
            For::Least if worlds[world].family == Family::App => (HAMMER, Hints::Blind, seed),
            For::Least => (ORACLE, Hints::Blind, seed),
        };
        play(&scenarios[world][hints as usize], &worlds[world], law, (seed, dice))
    });
    let mut results = Results::default();
    let per = settings.seeds as usize;
    for (jobs, done) in jobs.chunks(per).zip(done.chunks(per)) {
        let scores: Vec<Score> = done.iter().filter_map(|score| score.clone().ok()).collect();
        results.failed.extend(done.iter().filter_map(|score| score.clone().err()));
        let (Some(&(world, what, _)), false) = (jobs.first(), scores.is_empty()) else { continue };
        let score = Score::over(&scores, |all| share(all.iter().sum(), all.len() as f64));
        match what {
            For::Score(law, hints) => _ = results.scores.insert((world, law, hints), score),
            For::Again(law) => _ = results.again.insert((world, law), score),
            For::Obedient(hints) => _ = results.obedient.insert((world, hints), score),
            For::Least => _ = results.least.insert(world, score),
        }
    }
    Ok(results)
}

fn purposes<'a>(world: &Drawn, settings: &'a Settings) -> impl Iterator<Item = For> + use<'a> {
    let relative = world.family == Family::App || world.family.has_oracle();
    let least = relative.then_some(For::Least);
    let again = settings.hints.contains(&Hints::Blind) && settings.hints.len() > 1;
    let laws = settings.laws.iter().enumerate().flat_map(move |(law, name)| {
        let reads = move |hints: &&Hints| name != ORACLE || **hints == Hints::Blind;
        let scores = settings.hints.iter().filter(reads).map(move |&hints| For::Score(law, hints));
        scores.chain((again && name != ORACLE).then_some(For::Again(law)))
    });
    let obedient = [Hints::Blind, Hints::RetryAfter].map(For::Obedient);
    laws.chain(obedient.into_iter().filter(move |_| again)).chain(least)
}

/// One run. The world draws from `seed` and the law from `dice`. `tidegate-sim run` uses the same
/// value for both.
fn play(
    scenario: &Scenario,
    world: &Drawn,
    law: &str,
    (seed, dice): (u64, u64),
) -> Result<Score, Failed> {
    let failed = |why: String| Failed { scenario: scenario.name.clone(), law: law.into(), why };
    let server = Server::new(scenario.server.get_ref(), seed);
    let outlook = Rc::new(outlook(scenario, &server));
    let made = World::with(scenario, seed, |place| {
        let seed = Stream::Throttle(place.process).seed(dice);
        controllers::named(law, &Place { seed, ..place }, &outlook)
    });
    let mut made = made.ok_or_else(|| failed(format!("there is no law \"{law}\"")))?;
    let end = made.advance(Instant::MAX, &mut |_| {});
    end.map_err(|broken| failed(format!("seed {seed}: {broken}")))?;
    let (threads, served) = (made.processes().count() as f64, made.tally().served_in_all() as f64);
    let spent = threads * seconds(Instant::ZERO, made.now()) * 1e3 / served;
    let spent = Some(spent).filter(|spent| spent.is_finite());
    Ok(Score::of(&made.finish().metrics, spent, world.family, &world.facts))
}
