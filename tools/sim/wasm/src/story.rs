//! A small build: scenarios as numbers, and a few laws. It rejects anything else without a reason,
//! and the host then uses the complete build.

use std::rc::Rc;

use tidegate_sim::{Scenario, World, controllers};

use crate::desk::{NO_LAW, Rejection};

/// Creates the world of a scenario with a law.
pub fn world(
    scenario: &Rc<Scenario>,
    law: &str,
    seed: u64,
) -> Result<World<Rc<Scenario>>, Rejection> {
    World::with(Rc::clone(scenario), seed, |place| {
        let law = place.law.unwrap_or(law);
        controllers::plain(law, &place)
    })
    .ok_or_else(|| Rejection(NO_LAW, String::new()))
}
