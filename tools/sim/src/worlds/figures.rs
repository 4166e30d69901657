//! Computes the figures of laws from scores.

use serde::Serialize;

use super::runs::{Results, Settings};
use super::{Drawn, Facts, Family, Hints, Score, harm};
use crate::metric::median;

/// Clients count as limited by their program if fewer calls than this are throttled without any
/// pacing.
const NEVER: f64 = 0.002;

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Figure {
    pub worlds: usize,
    pub median: f64,
    pub p90: f64,
    pub worst: f64,
}

impl Figure {
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = values.into_iter().collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let worst = *sorted.last()?;
        let rank = (sorted.len() * 9).div_ceil(10).max(1) - 1;
        let middle = median(sorted.iter().copied())?;
        Some(Self { worlds: sorted.len(), median: middle, p90: sorted[rank], worst })
    }
}

/// The figures of a family with one set of hints and one law.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    pub family: &'static str,
    pub hints: &'static str,
    pub law: String,
    pub worlds: usize,
    #[serde(flatten)]
    pub score: Score<Figure>,
    /// Mean latency divided by that of an oracle that never delays a call needlessly, which is the
    /// latency without pacing, in worlds where that is almost never throttled.
    pub wait: Option<Figure>,
    /// The share of the server that uncoordinated calls can use minus the share that is used, at
    /// the same number of throttled calls, in worlds whose limit admits one call at a time.
    pub bound: Option<Figure>,
}

/// A world in which a true hint hurt.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Hurt {
    /// The scenario: world and hints.
    pub scenario: String,
    pub hints: &'static str,
    pub law: String,
    /// How it hurt: the result of [`harm`].
    pub why: Vec<&'static str>,
    pub reason: &'static str,
    /// Throttled, unused, 1 − Jain and latency in milliseconds without hints.
    pub blind: [Option<f64>; 4],
    pub told: [Option<f64>; 4],
    pub title: String,
}

/// How often a set of hints hurts a law.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judged {
    pub law: String,
    pub hints: &'static str,
    pub hurt: usize,
    pub worlds: usize,
    /// In how many worlds a second run without hints, with another seed of the law, counts as hurt.
    pub by_chance: usize,
}

#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    pub rows: Vec<Row>,
    pub judged: Vec<Judged>,
    pub hurt: Vec<Hurt>,
}

impl Figures {
    pub fn new(worlds: &[Drawn], settings: &Settings, results: &Results) -> Self {
        let all = View { worlds, settings, results };
        let mut figures = Self { rows: Vec::new(), judged: Vec::new(), hurt: Vec::new() };
        for law in 0..settings.laws.len() {
            for &hints in &settings.hints {
                figures.hurt.extend(all.hurt(law, hints));
                figures.judged.extend(all.judged(law, hints, &figures.hurt));
            }
        }
        for family in Family::ALL {
            for law in 0..settings.laws.len() {
                let rows = settings.hints.iter().map(|&hints| all.row(family, law, hints));
                figures.rows.extend(rows.flatten());
            }
        }
        figures
    }

    /// Whether a law uses more hints than `Retry-After`.
    pub(super) fn reads_more(&self, law: &str) -> bool {
        let own = || self.rows.iter().filter(|row| row.law == law);
        let least = |family| {
            own().find(|row| row.family == family && row.hints == Hints::RetryAfter.name())
        };
        own().filter(|row| is_more(row.hints)).any(|row| {
            least(row.family)
                .is_none_or(|least| Row { hints: least.hints, ..row.clone() } != *least)
        })
    }

    /// The rows without those that repeat the results with `Retry-After` alone.
    pub(super) fn told(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| !is_more(row.hints) || self.reads_more(&row.law))
    }
}

pub(super) fn is_more(hints: &str) -> bool {
    ![Hints::Blind, Hints::RetryAfter].map(Hints::name).contains(&hints)
}

struct View<'a> {
    worlds: &'a [Drawn],
    settings: &'a Settings,
    results: &'a Results,
}

impl View<'_> {
    fn score(&self, world: usize, law: usize, hints: Hints) -> Option<&Score> {
        self.results.scores.get(&(world, law, hints))
    }

    /// The scores without and with hints of each world in which hints are true.
    fn pairs(&self, law: usize, hints: Hints) -> impl Iterator<Item = (usize, &Score, &Score)> {
        let honest = |world: &usize| self.worlds[*world].family != Family::Lying;
        let asked = hints != Hints::Blind;
        (0..self.worlds.len()).filter(honest).filter_map(move |world| {
            let blind = self.score(world, law, Hints::Blind).filter(|_| asked)?;
            Some((world, blind, self.score(world, law, hints)?))
        })
    }

    /// How a run is worse than `blind`, beyond what every client that obeys loses in this world.
    fn harm(&self, world: usize, blind: &Score, other: &Score) -> Vec<&'static str> {
        let obedient = |hints| self.results.obedient.get(&(world, hints));
        let pair = obedient(Hints::Blind).zip(obedient(Hints::RetryAfter));
        let forced = pair.map_or(vec![], |(blind, told)| harm(blind, told));
        harm(blind, other).into_iter().filter(|it| !forced.contains(it)).collect()
    }

    fn hurt(&self, law: usize, hints: Hints) -> Vec<Hurt> {
        let shown = |it: &Score| [it.rejected, it.unused, it.unfair, it.latency];
        let hurt = |(world, blind, told): (usize, &Score, &Score)| {
            let why = self.harm(world, blind, told);
            let world = &self.worlds[world];
            (!why.is_empty()).then(|| Hurt {
                scenario: world.file(hints),
                hints: hints.name(),
                law: self.settings.laws[law].clone(),
                reason: reason(&world.facts, &why),
                why,
                blind: shown(blind),
                told: shown(told),
                title: world.title().into(),
            })
        };
        self.pairs(law, hints).filter_map(hurt).collect()
    }

    fn judged(&self, law: usize, hints: Hints, hurt: &[Hurt]) -> Option<Judged> {
        let worlds = self.pairs(law, hints).count();
        let name = &self.settings.laws[law];
        let chance = self.pairs(law, hints).filter(|(world, blind, _)| {
            let again = self.results.again.get(&(*world, law));
            again.is_some_and(|again| !self.harm(*world, blind, again).is_empty())
        });
        (worlds > 0).then(|| Judged {
            law: name.clone(),
            hints: hints.name(),
            hurt: hurt.iter().filter(|it| it.law == *name && it.hints == hints.name()).count(),
            worlds,
            by_chance: chance.count(),
        })
    }

    fn row(&self, family: Family, law: usize, hints: Hints) -> Option<Row> {
        let all: Vec<(usize, &Facts, &Score)> = self
            .worlds
            .iter()
            .enumerate()
            .filter(|(_, world)| world.family == family)
            .filter_map(|(index, world)| {
                Some((index, &world.facts, self.score(index, law, hints)?))
            })
            .collect();
        if all.is_empty() {
            return None;
        }
        let scores: Vec<Score> = all.iter().map(|it| *it.2).collect();
        let waits = all.iter().filter_map(|(world, _, score)| self.wait(*world, score));
        let bounds = all.iter().filter_map(|(_, facts, score)| bound(facts, score));
        Some(Row {
            family: family.name(),
            hints: hints.name(),
            law: self.settings.laws[law].clone(),
            worlds: all.len(),
            score: Score::over(&scores, Figure::of),
            wait: Figure::of(waits),
            bound: Figure::of(bounds).filter(|_| family == Family::Small),
        })
    }

    fn wait(&self, world: usize, score: &Score) -> Option<f64> {
        let least = self.results.least.get(&world)?;
        let oracle = self.worlds[world].family.has_oracle();
        let free = oracle || least.rejected.is_none_or(|share| share < NEVER);
        score.latency.zip(least.latency).filter(|_| free).map(|(own, least)| own / least)
    }
}

/// Why a hint hurts in such a world, if that is known in advance.
fn reason(facts: &Facts, why: &[&str]) -> &'static str {
    let calls = if facts.window { f64::from(facts.pool) } else { 1.0 };
    if calls <= facts.rate {
        "the server serves again within a second, and `Retry-After` is no shorter"
    } else if facts.pool < facts.clients {
        "a pool smaller than the crowd"
    } else if why == ["unfair"] {
        "few calls: shares have not settled"
    } else {
        "not explained"
    }
}

/// Uncoordinated calls find a token with probability 1/(1+ρ) if there are ρ times as many as
/// tokens: ρ/(1+ρ) is used, and as much is throttled.
fn bound(facts: &Facts, score: &Score) -> Option<f64> {
    let one = facts.pool == 1 && !facts.window;
    score.rejected.zip(score.unused).filter(|_| one).map(|(bad, unused)| bad - (1.0 - unused))
}
