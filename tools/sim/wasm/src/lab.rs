//! The whole extent: every scenario, law and peer, and what is wrong with one, as the command says it.

use std::rc::Rc;

use tidegate_sim::{Broken, Scenario, World, controllers};

use crate::desk::Rejection;

/// The scenario of a text.
pub fn read(text: &str) -> Result<Scenario, Rejection> {
    Scenario::parse(text, "the scenario", "")
        .map_err(|error| Rejection::Scenario(error.to_string()))
}

/// The world of a scenario with a law.
pub fn world(
    scenario: &Rc<Scenario>,
    law: &str,
    seed: u64,
) -> Result<World<Rc<Scenario>>, Rejection> {
    World::new(Rc::clone(scenario), law, seed).ok_or_else(|| {
        let names = scenario.law_names().join(", ");
        Rejection::Law(format!("there is no law \"{law}\"; there are {names}"))
    })
}

/// The names of all laws and peers.
pub fn laws() -> Vec<&'static str> {
    controllers::names()
}

/// What has happened to a world that broke.
pub fn why(broken: &Broken) -> String {
    format!("the world broke: {broken}")
}
