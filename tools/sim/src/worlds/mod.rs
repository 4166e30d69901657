//! Random worlds, and how laws perform in them.
//!
//! `tools/sim/scenarios/README.md` defines their distribution and the figures.

mod draw;
mod figures;
mod page;
mod picture;
mod runs;
mod score;
mod text;

pub use draw::{Drawn, Facts, draw};
pub use figures::{Figure, Figures, Judged, Row};
pub use page::page;
pub use picture::picture;
pub use runs::{Failed, Results, Settings, run};
pub use score::{Score, harm};

/// An enum whose variants have names.
macro_rules! named {
    ($(#[$about:meta])* $kind:ident: $($(#[$more:meta])* $one:ident = $name:literal,)*) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
        pub enum $kind {
            $($(#[$more])* $one,)*
        }

        impl $kind {
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$one),*];

            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$one => $name,)*
                }
            }
        }
    };
}

named! {
    /// The purpose of a set of worlds. The two sets are disjoint for every seed.
    Purpose:
    /// Worlds to tune a law with.
    Development = "development",
    /// Worlds to measure it with.
    Validation = "validation",
}

/// Defines the families, and the distribution of their worlds.
const README: &str = include_str!("../../scenarios/README.md");

named! {
    Family:
    Saturated = "saturated",
    App = "app",
    Cold = "cold",
    Steps = "steps",
    Outages = "outages",
    Small = "small",
    Strict = "strict",
    Pools = "pools",
    Second = "second",
    Streams = "streams",
    Lying = "lying",
    Noise = "noise",
    Bad = "bad",
    Strangers = "strangers",
    Nested = "nested",
    Sliding = "sliding",
    Delayed = "delayed",
    Bans = "bans",
    Flight = "flight",
    Leaps = "leaps",
    Tenants = "tenants",
    Cron = "cron",
    Wake = "wake",
    Near = "near",
    Nodes = "nodes",
    Latecomer = "latecomer",
    Fair = "fair",
    Light = "light",
}

impl Family {
    /// Whether latency is relative to that of the oracle.
    pub const fn has_oracle(self) -> bool {
        matches!(self, Self::Cron | Self::Wake | Self::Near | Self::Light)
    }

    /// The worlds of the family, in the words of the README.
    fn about(self) -> &'static str {
        let (row, tables) =
            (format!("\n| `{}` |", self.name()), README.split_once("## Distribution"));
        let row = tables.and_then(|(_, tables)| tables.split_once(&row));
        let cells = row.and_then(|(_, rest)| rest.split_once(" |\n"));
        cells.and_then(|(cells, _)| cells.rsplit("| ").next()).unwrap_or_default().trim_start()
    }
}

/// Of 20 worlds, five are saturated, five limited by the program, two have steps, and one is of
/// each other family.
pub const TURN: [Family; 20] = {
    use Family::{
        App, Cold, Lying, Outages, Pools, Saturated, Second, Small, Steps, Streams, Strict,
    };
    [
        Saturated, App, Steps, Small, Saturated, App, Strict, Pools, Saturated, App, Second,
        Streams, Saturated, App, Cold, Outages, Saturated, App, Steps, Lying,
    ]
};

/// The families of mixed traffic, except the slow one and the one of light use.
pub const MIXED: &[Family] =
    Family::ALL.split_at(Family::Fair as usize).0.split_at(Family::Noise as usize).1;

/// This many worlds of some families in turn, and the index of each world in its family.
pub fn plan(worlds: u32, turn: &[Family]) -> Vec<(Family, u32)> {
    let mut counts = [0; Family::ALL.len()];
    let number = |&family: &Family| {
        let count = &mut counts[family as usize];
        *count += 1;
        (family, *count)
    };
    turn.iter().cycle().take(worlds as usize).map(number).collect()
}

named! {
    /// A set of hints. Up to `Everything`, each includes the previous ones, except `Quota` and `Reset`.
    Hints:
    Blind = "none",
    RetryAfter = "retry-after",
    Remaining = "remaining",
    /// Also the limit with its period.
    Quota = "remaining+quota",
    /// `Retry-After`, the remaining calls and the reset.
    Reset = "remaining+reset",
    Everything = "everything",
    /// The remaining calls and the reset, without `Retry-After`.
    OnlyReset = "reset",
    /// The limit with its period alone.
    OnlyQuota = "quota",
}

impl Hints {
    /// The sets that every world is run with.
    pub const USUAL: &[Self] = Self::ALL.split_at(Self::OnlyReset as usize).0;

    /// Whether it includes `retry_after`, `remaining`, `reset` and `quota`.
    const fn has(self) -> [bool; 4] {
        match self {
            Self::Blind => [false; 4],
            Self::RetryAfter => [true, false, false, false],
            Self::Remaining => [true, true, false, false],
            Self::Quota => [true, true, false, true],
            Self::Reset => [true, true, true, false],
            Self::Everything => [true; 4],
            Self::OnlyReset => [false, true, true, false],
            Self::OnlyQuota => [false, false, false, true],
        }
    }
}
