//! The score of a law in a world, and whether a hint hurt.

use serde::Serialize;

use crate::metric::Metrics;

use super::{Facts, Family};

/// The score of a law in a world with one set of hints: means over all seeds. Figures that do not
/// apply are absent. With `Figure` as `T`, the figures over many worlds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Score<T = f64> {
    /// The share of calls that were throttled or failed: in the second half of the run if clients
    /// request more than the limit, else in the whole run.
    pub rejected: Option<T>,
    /// The share of the server's supply in the second half of the run that was not used, if clients
    /// request more than the limit; or of what they request.
    pub unused: Option<T>,
    /// 1 − Jain's index over the clients; of long runs in their last quarter.
    pub unfair: Option<T>,
    /// The mean time from a call's beginning until it was served, in milliseconds. If clients
    /// request more than the limit, it is the time of all threads divided by the calls served.
    /// Otherwise calls that still wait at the end would be omitted, and the latency of a law that
    /// starves some would be too low.
    pub latency: Option<T>,
    /// Of a job: its time divided by the shortest possible.
    pub job: Option<T>,
    /// Of a rate that rises: the time until it was used, in former call intervals of a client.
    pub up: Option<T>,
    /// Of a rate that falls: like `up`, in intervals before the fall; of `leaps` before the rise.
    pub down: Option<T>,
    /// Of a client that joins: the part of an even share that the client with fewer calls lacks in
    /// the minute after.
    pub lacking: Option<T>,
    /// Of an outage: the time from its end until the rate was used again, divided by its length.
    pub back: Option<T>,
}

impl Score {
    /// The score of one run. `spent` is the thread time per served call, in milliseconds.
    pub fn of(metrics: &Metrics, spent: Option<f64>, family: Family, facts: &Facts) -> Self {
        let get = |name| metrics.get(name);
        let Facts { saturated, .. } = *facts;
        // The rate has doubled before it falls.
        let fall = if family == Family::Steps { 2.0 } else { 1.0 };
        Self {
            rejected: get(if saturated { "ss_throttled" } else { "throttled" }),
            unused: get("ss_util")
                .filter(|_| saturated || family == Family::Strangers)
                .map(|used| (1.0 - used).max(0.0)),
            unfair: get("last_jain").or(get("jain_process")).map(|jain| 1.0 - jain),
            latency: if saturated { spent } else { get("latency_mean_ms") },
            // A job that was not completed took at least the observed time.
            job: Some(get("time_s").unwrap_or(facts.end) / facts.ideal)
                .filter(|_| facts.ideal > 0.0),
            up: get("up_s").map(|seconds| seconds / facts.interval()),
            down: get("down_s").map(|s| s / facts.interval() * fall),
            lacking: get("join_least").map(|least| (1.0 - least).max(0.0)),
            back: get("recovery_s").map(|seconds| seconds / facts.outage),
        }
    }

    /// Each figure of some scores, combined by `of`.
    pub fn over<T>(scores: &[Self], of: impl Fn(Vec<f64>) -> Option<T>) -> Score<T> {
        let all = |figure: fn(&Self) -> Option<f64>| of(scores.iter().filter_map(figure).collect());
        Score {
            rejected: all(|score| score.rejected),
            unused: all(|score| score.unused),
            unfair: all(|score| score.unfair),
            latency: all(|score| score.latency),
            job: all(|score| score.job),
            up: all(|score| score.up),
            down: all(|score| score.down),
            lacking: all(|score| score.lacking),
            back: all(|score| score.back),
        }
    }
}

/// The names of the figures in which `told` is worse than `blind`: half as many calls again were
/// throttled and 0.3 points more, 3 points less of the server were used, Jain's index fell by 0.1, or
/// the mean latency rose by a tenth. Empty if the hint did not hurt.
pub fn harm(blind: &Score, told: &Score) -> Vec<&'static str> {
    let worse = |of: fn(&Score) -> Option<f64>, test: fn(f64, f64) -> bool| {
        of(blind).zip(of(told)).is_some_and(|(before, after)| test(before, after))
    };
    let tests = [
        ("rejected", worse(|it| it.rejected, |a, b| b > 1.5 * a && b > a + 0.003)),
        ("unused", worse(|it| it.unused, |a, b| b > a + 0.03)),
        ("unfair", worse(|it| it.unfair, |a, b| b > a + 0.1)),
        ("latency", worse(|it| it.latency, |a, b| b > 1.1 * a)),
    ];
    tests.into_iter().filter(|test| test.1).map(|test| test.0).collect()
}
