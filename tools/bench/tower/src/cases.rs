//! The ten servers, their loads, and the ideal times.

use std::time::Duration;

use crate::load::{Load, tokens};
use crate::server::{Limit, Work};

/// A server and its load.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub server: &'static str,
    pub load: &'static str,
    pub limit: Limit,
    pub latency: Duration,
    pub calls: Load,
    /// The rate for clients that have to be configured, in calls a second.
    pub rate: u32,
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

const fn bucket(burst: u64) -> Limit {
    Limit::Bucket { rate: 50, burst, tells: true }
}

const fn window(calls: u64, seconds: u64) -> Limit {
    Limit::Window { calls, length: Duration::from_secs(seconds) }
}

/// A server that answers soon.
const fn case([server, load]: [&'static str; 2], limit: Limit, calls: Load, rate: u32) -> Case {
    Case { server, load, limit, latency: ms(20), calls, rate }
}

const IN_FLIGHT: Limit = Limit::InFlight { most: 8, work: Work::Headers(ms(50)) };
const STREAMS: Limit = Limit::InFlight { most: 8, work: Work::Stream(ms(500)) };
const SILENT: Limit = Limit::Bucket { rate: 50, burst: 20, tells: false };
const MODEL: Limit = Limit::Model { requests: (20, 60), tokens: (8_000, 24_000) };
const TOLD: &str = "bucket of 20, 50/s, X-RateLimit";

/// The longest cases start first, so that none runs alone at the end.
pub const CASES: [Case; 10] = [
    case(["300 a minute, Retry-After", "330 at once"], window(300, 60), Load::AtOnce(330), 5),
    case(["60 per 5 s, Retry-After", "300 at once"], window(60, 5), Load::AtOnce(300), 12),
    Case {
        latency: ms(50),
        ..case(["8 in flight, 50 ms each", "300 at once"], IN_FLIGHT, Load::AtOnce(300), 80)
    },
    case([TOLD, "300 at once"], bucket(20), Load::AtOnce(300), 50),
    case(["the same, no headers", "300 at once"], SILENT, Load::AtOnce(300), 50),
    case(
        ["bucket of 1000, 50/s, X-RateLimit", "200, one after the other"],
        bucket(1_000),
        Load::Sequential(200),
        50,
    ),
    case([TOLD, "250 at 25/s"], bucket(20), Load::Every(ms(40), 250), 50),
    case([TOLD, "500 at 100/s"], bucket(20), Load::Every(ms(10), 500), 50),
    Case {
        latency: ms(40),
        ..case(
            ["language model, 20/s and 8000 tokens/s", "300 at once"],
            MODEL,
            Load::AtOnce(300),
            15,
        )
    },
    case(["8 streams of 0.5 s", "100 at once"], STREAMS, Load::AtOnce(100), 16),
];

impl Case {
    /// The time of a client that knows the server and always calls as soon as possible.
    pub fn ideal(&self) -> f64 {
        let (calls, latency) = (self.calls.calls(), self.latency.as_secs_f64());
        let after = |count: u32, (rate, burst): (u64, u64)| {
            u64::from(count).saturating_sub(burst) as f64 / rate as f64
        };
        let comes = match self.calls {
            Load::AtOnce(_) => 0.0,
            Load::Sequential(calls) => latency * f64::from(calls - 1),
            Load::Every(each, calls) => (each * (calls - 1)).as_secs_f64(),
        };
        let allowed = match self.limit {
            Limit::Bucket { rate, burst, .. } => after(calls, (rate, burst)),
            Limit::Window { calls: each, length } => {
                length.as_secs_f64() * (u64::from(calls - 1) / each) as f64
            }
            Limit::Model { requests, tokens: bucket } => {
                let used: u32 = (0..calls).map(tokens).sum();
                after(calls, requests).max(after(used, bucket))
            }
            Limit::InFlight { most, work: Work::Headers(takes) | Work::Stream(takes) } => {
                takes.as_secs_f64() * u64::from(calls).div_ceil(most) as f64
            }
        };
        comes.max(allowed) + latency
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ideal_follows_from_the_limit_and_the_load() {
        let ideals = CASES.map(|case| (case.ideal() * 10.0).round() / 10.0);
        assert_eq!(ideals, [60.0, 20.0, 2.0, 5.6, 5.6, 4.0, 10.0, 9.6, 15.8, 6.5]);
    }
}
