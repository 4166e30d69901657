//! The behaviours of the hostile server, by name.

use std::sync::LazyLock;

#[derive(Clone, Copy, Debug)]
pub struct Mood {
    /// Its name on the command line, and its path.
    pub name: &'static str,
    pub(crate) act: Act,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Act {
    /// Its complete responses of `moods.txt`, in turn.
    Answer,
    /// These two alternately, for this many milliseconds each.
    Flap(u64),
    /// A head, followed by an endless body with one byte every so many milliseconds.
    TrickleBody(u64),
    /// An endless body, as fast as it is read.
    FloodBody,
    /// An endless head with one byte every so many milliseconds.
    TrickleHead(u64),
    FloodHead,
    Informational,
    CutHead,
    CutBody,
    Reset,
    /// Sends nothing and keeps the connection open.
    Silence,
    /// Sends data that is not HTTP.
    Noise,
    Twice,
}

/// The moods that are not of `moods.txt`.
const ACTS: [(&str, Act); 12] = [
    ("flapping", Act::Flap(100)),
    ("trickling-body", Act::TrickleBody(100)),
    ("endless-body", Act::FloodBody),
    ("trickling-head", Act::TrickleHead(50)),
    ("endless-head", Act::FloodHead),
    ("endless-early-hints", Act::Informational),
    ("cut-head", Act::CutHead),
    ("cut-body", Act::CutBody),
    ("reset", Act::Reset),
    ("half-open", Act::Silence),
    ("not-http", Act::Noise),
    ("two-answers", Act::Twice),
];

pub static MOODS: LazyLock<Vec<Mood>> = LazyLock::new(|| {
    let mut told: Vec<_> = lines().map(|line| (line[0], Act::Answer)).collect();
    told.dedup_by_key(|&mut (name, _)| name);
    told.into_iter().chain(ACTS).map(|(name, act)| Mood { name, act }).collect()
});

/// Each with a name, a status, and any number of headers, at least two spaces apart.
fn lines() -> impl Iterator<Item = Vec<&'static str>> {
    let columns = |line: &'static str| line.split("  ").filter(|it| !it.is_empty());
    include_str!("moods.txt").lines().map(move |line| columns(line).map(str::trim).collect())
}

impl Mood {
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        MOODS.iter().find(|mood| mood.name == name).copied()
    }

    /// Its complete responses: status and headers.
    pub(crate) fn answers(&self) -> Vec<(&'static str, String)> {
        let of_this = lines().filter(|line| line[0] == self.name);
        let headers = |line: &[&str]| line.iter().map(|header| format!("{header}\r\n")).collect();
        of_this.map(|line| (line[1], headers(&line[2..]))).collect()
    }

    /// Whether it serves some calls, so that a high call rate is acceptable.
    #[must_use]
    pub fn serves(&self) -> bool {
        matches!(self.act, Act::Flap(_) | Act::Twice)
            || self.answers().iter().any(|(status, _)| *status == "200")
    }
}
