//! The extent of the story: plain scenarios and a few laws. What is beyond it is rejected, and
//! why is not said: the host turns to the whole extent, which knows.

use std::rc::Rc;

use tidegate_sim::{Broken, Scenario, World, controllers};

use crate::desk::Rejection;

/// The scenario of a text.
pub fn read(text: &str) -> Result<Scenario, Rejection> {
    Scenario::plain(text).ok_or_else(|| Rejection::Scenario(String::new()))
}

/// The world of a scenario with a law.
pub fn world(
    scenario: &Rc<Scenario>,
    law: &str,
    seed: u64,
) -> Result<World<Rc<Scenario>>, Rejection> {
    World::with(Rc::clone(scenario), seed, |place| {
        let law = place.law.unwrap_or(law);
        controllers::plain(law, &place)
    })
    .ok_or_else(|| Rejection::Law(String::new()))
}

/// What has happened to a world that broke.
pub const fn why(_: &Broken) -> String {
    String::new()
}
