//! What a throttle is created from, and what is known of the world in advance.

use tidegate::{Instant, Span};

use crate::chance::{Spread, scaled};
use crate::scenario::{Clients, Scenario};
use crate::server::{Server, Strangers};
use crate::throttle::{Member, Outlook};

/// A process that needs a throttle.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    pub scenario: &'a Scenario,
    pub process: u32,
    pub threads: u32,
    /// Its own law, if it does not use the law under test.
    pub law: Option<&'a str>,
    pub seed: u64,
    pub from: Instant,
}

/// The shortest travel time to the server, and the longest excess. For an exponential distribution
/// the excess is the longest of a hundred. Long-tailed distributions use the default.
fn way(latency: &Spread) -> (Span, Span) {
    match *latency {
        Spread::Constant(time) => (time.span(), Span::ZERO),
        Spread::Uniform(least, most) => (least.span(), most.span() - least.span()),
        Spread::Exponential(mean) => (Span::ZERO, scaled(mean.span(), 4.6)),
        Spread::Lognormal { .. } => (Span::from_millis(25), Span::from_millis(50)),
    }
}

pub fn outlook(scenario: &Scenario, server: &Server) -> Outlook {
    let member = |group: &Clients| Member {
        from: group.from.instant(),
        to: group.to.map_or(Instant::MAX, |to| to.instant()),
        stranger: group.stranger_rate(),
    };
    let members = scenario
        .groups()
        .flat_map(|group| (0..group.processes).map(move |_| member(group)))
        .collect();
    Outlook {
        rate: server.rate(),
        burst: server.nodes() * server.limit().burst(),
        start: server.nodes() * server.limit().start(),
        window: server.limit().windows(),
        way: way(scenario.latency.get_ref()),
        strangers: scenario.server.get_ref().strangers.map_or(0.0, Strangers::mean),
        members,
        ledger: Default::default(),
    }
}
