//! The ten servers, their loads, and the ideal times.

use std::time::Duration;

use crate::load::{Load, tokens};
use crate::server::{Limit, Work};

/// A server and its load.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub server: &'static str,
    pub load: &'static str,
    limit: (Limit, Duration),
    calls: Load,
    /// The rate for clients that have to be configured, in calls a second.
    rate: u32,
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

const FAST: Duration = ms(20);

const fn bucket(burst: u64, tells: bool) -> (Limit, Duration) {
    (Limit::Bucket { rate: 50, burst, tells }, FAST)
}

const fn window(calls: u64, seconds: u64) -> (Limit, Duration) {
    (Limit::Window { calls, length: Duration::from_secs(seconds) }, FAST)
}

/// The longest cases start first, so that none runs alone at the end.
pub const CASES: [Case; 10] = [
    Case {
        server: "300 a minute, Retry-After",
        load: "330 at once",
        limit: window(300, 60),
        calls: Load::AtOnce(330),
        rate: 5,
    },
    Case {
        server: "60 per 5 s, Retry-After",
        load: "300 at once",
        limit: window(60, 5),
        calls: Load::AtOnce(300),
        rate: 12,
    },
    Case {
        server: "8 in flight, 50 ms each",
        load: "300 at once",
        limit: (Limit::InFlight { most: 8, work: Work::Headers(ms(50)) }, ms(50)),
        calls: Load::AtOnce(300),
        rate: 80,
    },
    Case {
        server: "bucket of 20, 50/s, X-RateLimit",
        load: "300 at once",
        limit: bucket(20, true),
        calls: Load::AtOnce(300),
        rate: 50,
    },
    Case {
        server: "the same, no headers",
        load: "300 at once",
        limit: bucket(20, false),
        calls: Load::AtOnce(300),
        rate: 50,
    },
    Case {
        server: "bucket of 1000, 50/s, X-RateLimit",
        load: "200, one after the other",
        limit: bucket(1_000, true),
        calls: Load::Sequential(200),
        rate: 50,
    },
    Case {
        server: "bucket of 20, 50/s, X-RateLimit",
        load: "250 at 25/s",
        limit: bucket(20, true),
        calls: Load::Every(ms(40), 250),
        rate: 50,
    },
    Case {
        server: "bucket of 20, 50/s, X-RateLimit",
        load: "500 at 100/s",
        limit: bucket(20, true),
        calls: Load::Every(ms(10), 500),
        rate: 50,
    },
    Case {
        server: "language model, 20/s and 8000 tokens/s",
        load: "300 at once",
        limit: (Limit::Model { requests: (20, 60), tokens: (8_000, 24_000) }, ms(40)),
        calls: Load::AtOnce(300),
        rate: 15,
    },
    Case {
        server: "8 streams of 0.5 s",
        load: "100 at once",
        limit: (Limit::InFlight { most: 8, work: Work::Stream(ms(500)) }, FAST),
        calls: Load::AtOnce(100),
        rate: 16,
    },
];

impl Case {
    pub const fn limit(&self) -> Limit {
        self.limit.0
    }

    pub const fn latency(&self) -> Duration {
        self.limit.1
    }

    pub const fn calls(&self) -> Load {
        self.calls
    }

    pub const fn rate(&self) -> u32 {
        self.rate
    }

    /// The time of a client that knows the server and always calls as soon as possible.
    pub fn ideal(&self) -> f64 {
        let (calls, latency) = (self.calls.calls(), self.latency().as_secs_f64());
        let after = |count: u32, (rate, burst): (u64, u64)| {
            u64::from(count).saturating_sub(burst) as f64 / rate as f64
        };
        let comes = match self.calls {
            Load::AtOnce(_) => 0.0,
            Load::Sequential(calls) => latency * f64::from(calls - 1),
            Load::Every(each, calls) => (each * (calls - 1)).as_secs_f64(),
        };
        let allowed = match self.limit() {
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
