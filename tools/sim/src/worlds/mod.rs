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

/// The purpose of a set of worlds. The two sets are disjoint for every seed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Purpose {
    /// Worlds to tune a law with.
    Development,
    /// Worlds to measure it with.
    Validation,
}

impl Purpose {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Development => "development",
            Self::Validation => "validation",
        }
    }
}

macro_rules! families {
    ($($(#[doc = $about:literal])+ $family:ident: $name:literal,)*) => {
        #[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
        pub enum Family {
            $($(#[doc = $about])+ $family,)*
        }

        impl Family {
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$family),*];

            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$family => $name,)*
                }
            }

            /// A description, with a space before each line.
            const fn about(self) -> &'static str {
                match self {
                    $(Self::$family => concat!($($about),+),)*
                }
            }
        }
    };
}

families! {
    /// Clients request at least twice the limit. No limit is smaller than the number of clients.
    Saturated: "saturated",
    /// Clients request less than the limit, so every wait is unnecessary. Latency is relative to an
    /// oracle that knows the server and never delays a call unnecessarily: the latency without pacing,
    /// in worlds where that has fewer than 0.2 % of its calls throttled.
    App: "app",
    /// A job larger than the calls available at the start, which are all or none. Time is relative to
    /// the shortest possible. A job that is not completed counts with the observed time.
    Cold: "cold",
    /// A bucket whose rate doubles and then falls to a quarter. Times are in units of a client's call
    /// interval before the step. A rate that is not found counts with the observed time.
    Steps: "steps",
    /// An outage in which every call fails. The time until the rate is used again is relative to the
    /// length of the outage.
    Outages: "outages",
    /// Limits smaller than the number of clients. Uncoordinated calls find a token in a bucket of one
    /// with probability 1/(1+ρ), so ρ/(1+ρ) of it is used while ρ/(1+ρ) are rejected. The first column
    /// is how much less than that was used. Below 0, calls are coordinated.
    Small: "small",
    /// One client and a bucket of one, from one call an hour to an interval of twenty times the jitter
    /// of the travel time.
    Strict: "strict",
    /// Limits of 5 to 40 calls, with no more clients than that and at most 8.
    Pools: "pools",
    /// Windows of a second, reported in whole seconds.
    Second: "second",
    /// Saturated worlds in which the server works on a call for 2 seconds to 3 minutes.
    Streams: "streams",
    /// Saturated worlds in which every hint is false.
    Lying: "lying",
    /// Random rejections, at any rate.
    Noise: "noise",
    /// One call in many that is never served.
    Bad: "bad",
    /// Jobs beside strangers. Time is relative to an even split of what they leave. A job that is not
    /// completed counts with the observed time.
    Strangers: "strangers",
    /// Several windows at once.
    Nested: "nested",
    /// Sliding windows.
    Sliding: "sliding",
    /// Sliding windows that are enforced late.
    Delayed: "delayed",
    /// Bans of clients that are throttled too often.
    Bans: "bans",
    /// A limit on calls in flight beside a rate.
    Flight: "flight",
    /// A rate that rises to 10 or 100 times, and falls back. Times are in units of a client's call
    /// interval before the rate rises.
    Leaps: "leaps",
    /// Clients that come and go.
    Tenants: "tenants",
    /// Many calls at once, again and again.
    Cron: "cron",
    /// Many clients that wake together.
    Wake: "wake",
    /// Clients that request almost the limit.
    Near: "near",
    /// Connections to equal nodes with a limit of each.
    Nodes: "nodes",
    /// A rate that doubles for a settled client, and a second client that joins it.
    Latecomer: "latecomer",
    /// Equal clients with 100,000 calls each.
    Fair: "fair",
}

impl Family {
    /// Whether latency is relative to that of the oracle.
    pub const fn has_oracle(self) -> bool {
        matches!(self, Self::Cron | Self::Wake | Self::Near)
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

/// The families of mixed traffic, except the slow one.
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

/// A set of hints. Each includes the previous ones, except `Quota` and `Reset`.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Hints {
    Blind,
    RetryAfter,
    Remaining,
    /// Also the limit with its period.
    Quota,
    /// `Retry-After`, the remaining calls and the reset.
    Reset,
    Everything,
}

impl Hints {
    pub const ALL: [Self; 6] = [
        Self::Blind,
        Self::RetryAfter,
        Self::Remaining,
        Self::Quota,
        Self::Reset,
        Self::Everything,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Blind => "none",
            Self::RetryAfter => "retry-after",
            Self::Remaining => "remaining",
            Self::Quota => "remaining+quota",
            Self::Reset => "remaining+reset",
            Self::Everything => "everything",
        }
    }

    /// Whether it includes `retry_after`, `remaining`, `reset` and `quota`.
    const fn has(self) -> [bool; 4] {
        match self {
            Self::Blind => [false; 4],
            Self::RetryAfter => [true, false, false, false],
            Self::Remaining => [true, true, false, false],
            Self::Quota => [true, true, false, true],
            Self::Reset => [true, true, true, false],
            Self::Everything => [true; 4],
        }
    }
}
