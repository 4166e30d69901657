//! The complete simulator: every scenario, law and peer, with the command's error messages.

use std::rc::Rc;

use tidegate_sim::scenario::Clients;
use tidegate_sim::{Scenario, World};

use crate::{NO_LAW, NO_SCENARIO, Rejection};

/// Parses a scenario file, and rejects what would keep a page busy for too long.
pub fn read(text: &[u8]) -> Result<Scenario, Rejection> {
    let scenario = Scenario::parse(&String::from_utf8_lossy(text), "the scenario", "")
        .map_err(|error| invalid(&error))?;
    let processes: u64 = scenario.groups().map(|group| u64::from(group.processes)).sum();
    let workers = |group: &Clients| u64::from(group.processes) * u64::from(group.threads);
    let counters = scenario.bins().saturating_mul(processes);
    for (number, most, what) in [
        (processes, 2_000, "programs"),
        (scenario.groups().map(workers).sum(), 20_000, "workers"),
        (scenario.bins(), 200_000, "bins"),
        (counters, 3_000_000, "counters, one for each bin and program"),
        (scenario.clients.len() as u64, 128, "groups of clients"),
    ] {
        if number > most {
            let why = format!(
                "{number} {what} are too many for a page: choose at most {most}, or the command line"
            );
            return Err(Rejection(NO_SCENARIO, why));
        }
    }
    Ok(scenario)
}

/// A scenario file as JSON, with the same keys.
pub fn to_json(text: &[u8]) -> Result<String, Rejection> {
    let value = toml::Value::try_from(read(text)?).map_err(|error| invalid(&error))?;
    serde_json::to_string(&value).map_err(|error| invalid(&error))
}

/// The scenario file for what [`to_json`] returned, or for a changed version of it.
pub fn to_toml(json: &[u8]) -> Result<String, Rejection> {
    let value: toml::Value = serde_json::from_slice(json).map_err(|error| invalid(&error))?;
    let text = toml::to_string(&value).map_err(|error| invalid(&error))?;
    Ok(read(text.as_bytes())?.print())
}

fn invalid(error: &dyn std::error::Error) -> Rejection {
    Rejection(NO_SCENARIO, error.to_string())
}

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
