//! A scenario without a file, for the page: its first figure should not wait for the TOML parser,
//! which is larger than the simulator.

use tidegate::Span;
use toml::Spanned;

use super::units::{Rate, Time};
use super::{Clients, Scenario};
use crate::chance::Spread;
use crate::server::{BucketSpec, ServerSpec};

impl Scenario {
    /// Equal clients of a full token bucket, with a one-way latency between two times. It ends
    /// after a year, and counts nothing per bin.
    pub fn plain(way: [Span; 2], burst: u32, rate: Rate, processes: u32, threads: u32) -> Self {
        let year = Time::from(Span::from_secs(365 * 86_400));
        let bucket = BucketSpec { burst, start: None, rate, steps: Vec::new() };
        let server = ServerSpec { bucket: Some(bucket), ..ServerSpec::default() };
        let clients = Clients { processes, threads, ..Clients::default() };
        let [least, most] = way.map(Time::from);
        Self {
            name: String::new(),
            title: String::new(),
            end: nowhere(year),
            bin: nowhere(year),
            measure_from: Time::default(),
            peak_from: None,
            stop_when_work_is_done: false,
            stop_at_remaining: None,
            stop_after_calls: None,
            offered: None,
            latency: nowhere(Spread::Uniform(least, most)),
            laws: Vec::new(),
            server: nowhere(server),
            clients: vec![nowhere(clients)],
            stretches: Vec::new(),
            convergences: Vec::new(),
        }
    }
}

fn nowhere<T>(part: T) -> Spanned<T> {
    Spanned::new(0..0, part)
}
