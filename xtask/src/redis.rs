//! redis-server, a real one, for fleets that share a budget through it.

use std::process::Command;

use anyhow::Result;

use crate::{aside, setup};

/// The command that installs it, and the program.
const TOOL: &str = "redis";
const PROGRAM: &str = "redis-server";

/// Brings it if it is missing.
pub fn missing() -> Result<()> {
    setup::missing_tool(TOOL)
}

/// Tells a test where it is, and where the libraries are that it needs.
pub fn tell(test: &mut Command) {
    let server = aside::command(PROGRAM);
    test.env("TIDEGATE_REDIS", server.get_program());
    if let Some((_, Some(libraries))) = server.get_envs().next() {
        test.env("TIDEGATE_REDIS_LIBRARIES", libraries);
    }
}
