//! The complete simulator: every scenario, law and peer, with the command's error messages.

use std::rc::Rc;

use tidegate_sim::{Scenario, World, controllers};

use crate::desk::{NO_LAW, NO_SCENARIO, Rejection};

/// Parses a scenario file.
pub fn read(text: &[u8]) -> Result<Scenario, Rejection> {
    Scenario::parse(&String::from_utf8_lossy(text), "the scenario", "")
        .map_err(|error| Rejection(NO_SCENARIO, error.to_string()))
}

/// Creates the world of a scenario with a law.
pub fn world(
    scenario: &Rc<Scenario>,
    law: &str,
    seed: u64,
) -> Result<World<Rc<Scenario>>, Rejection> {
    World::new(Rc::clone(scenario), law, seed).ok_or_else(|| {
        let names = scenario.law_names().join(", ");
        Rejection(NO_LAW, format!("there is no law \"{law}\"; there are {names}"))
    })
}

/// The names of all laws and peers.
pub fn laws() -> Vec<&'static str> {
    controllers::names()
}
