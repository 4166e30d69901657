//! The places that throttles are made for, and what can be known of the world beforehand.

use tidegate::{Instant, Span};

use crate::chance::{Spread, scaled};
use crate::scenario::units::Rate;
use crate::scenario::{Clients, Demand, Scenario};
use crate::server::Server;
use crate::throttle::{Member, Outlook};

/// A process that needs a throttle.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The scenario of its world.
    pub scenario: &'a Scenario,
    /// Its number.
    pub process: u32,
    /// How many threads it has.
    pub threads: u32,
    /// The law it keeps to, where it does not keep to the one under test.
    pub law: Option<&'a str>,
    /// A seed for its throttle alone.
    pub seed: u64,
    /// When it joins.
    pub from: Instant,
}

/// The shortest way to the server, and how much longer one can be. The longest of a hundred stands for
/// an exponential one; a long tail has no longest, and is taken for the way that is the default.
fn way(latency: &Spread) -> (Span, Span) {
    match *latency {
        Spread::Constant(time) => (time.span(), Span::ZERO),
        Spread::Uniform(least, most) => (least.span(), most.span().saturating_sub(least.span())),
        Spread::Exponential(mean) => (Span::ZERO, scaled(mean.span(), 4.6)),
        Spread::Lognormal { .. } => (Span::from_millis(25), Span::from_millis(50)),
    }
}

/// What can be known of the world of a scenario, for the one who may know it.
pub fn outlook(scenario: &Scenario, server: &Server) -> Outlook {
    let member = |group: &Clients| Member {
        threads: group.threads,
        from: group.from.instant(),
        to: group.to.map_or(Instant::MAX, |to| to.instant()),
        stranger: group.are_strangers().then(|| match group.demand {
            Demand::Poisson(rate) => rate.as_per_second() * f64::from(group.threads),
            _ => 0.0,
        }),
    };
    let members = scenario
        .groups()
        .flat_map(|group| (0..group.processes).map(move |_| member(group)))
        .collect();
    Outlook {
        rate: server.rate(),
        burst: server.limit().burst(),
        start: server.limit().start(),
        window: server.limit().windows(),
        way: way(scenario.latency.get_ref()),
        strangers: scenario.server.get_ref().strangers.map_or(0.0, Rate::as_per_second),
        members,
        ledger: Default::default(),
        telemetry: Default::default(),
    }
}
