//! A real redis-server, for fleets that share a budget through it.

use std::process::Command;

use anyhow::Result;

use crate::{aside, setup};

/// The command that installs it, and the program.
const TOOL: &str = "redis";
const PROGRAM: &str = "redis-server";

/// Installs it if it is missing.
pub fn missing() -> Result<()> {
    setup::missing_tool(TOOL)
}

/// Passes its path, and its libraries' paths, to a test.
pub fn tell(test: &mut Command) {
    let server = aside::command(PROGRAM);
    test.env("TIDEGATE_REDIS", server.get_program());
    if let Some((_, Some(libraries))) = server.get_envs().next() {
        test.env("TIDEGATE_REDIS_LIBRARIES", libraries);
    }
}
