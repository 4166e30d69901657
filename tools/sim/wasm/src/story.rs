//! The extent of the story: plain scenarios and a few laws. What is beyond it is refused, and
//! why is not said: the host turns to the whole extent, which knows.

use std::rc::Rc;

use tidegate_sim::{Broken, Scenario, World, controllers};

use crate::desk::Refusal;

/// The scenario of a text.
pub fn read(text: &str) -> Result<Scenario, Refusal> {
    Scenario::plain(text).ok_or_else(|| Refusal::Scenario(String::new()))
}

/// The world of a scenario with a law.
pub fn world(
    scenario: &Rc<Scenario>,
    law: &str,
    seed: u64,
) -> Result<World<Rc<Scenario>>, Refusal> {
    World::with(Rc::clone(scenario), seed, |place| {
        let law = place.law.unwrap_or(law);
        controllers::plain(law, &place)
    })
    .ok_or_else(|| Refusal::Law(String::new()))
}

/// What has happened to a world that broke.
pub const fn why(_: &Broken) -> String {
    String::new()
}
