//! Programs from outside Rust: how to detect one, which packages contain it, and why it is needed.

use std::env;
use std::process::Command;

use anyhow::{Result, anyhow};

use crate::workspace::{installed, on_path};
use crate::{apt, aside};

/// One row of the table.
pub struct Tool {
    pub name: &'static str,
    pub why: &'static str,
    /// The tool is there when all of these are on the PATH.
    programs: &'static [&'static str],
    packages: &'static [&'static str],
    /// Its packages are unpacked and not installed; see [`aside`].
    aside: bool,
}

pub const TOOLS: [Tool; 8] = [
    Tool {
        name: "node",
        why: "runs what is built for wasm",
        programs: &["node"],
        packages: &["nodejs"],
        aside: false,
    },
    Tool {
        name: "npm",
        why: "builds and tests the npm package",
        programs: &["npm"],
        packages: &["npm"],
        aside: false,
    },
    Tool {
        name: "qemu",
        why: "runs the firmware images",
        programs: &["qemu-system-arm", "qemu-system-riscv32"],
        packages: &["qemu-system-arm", "qemu-system-misc"],
        aside: true,
    },
    Tool {
        name: "mosquitto",
        why: "is the MQTT broker that firmware meets",
        programs: &["mosquitto", "mosquitto_sub"],
        packages: &["mosquitto", "mosquitto-clients"],
        aside: true,
    },
    Tool {
        name: "redis",
        why: "is the server through which Node processes share a budget",
        programs: &["redis-server"],
        packages: &["redis-server"],
        aside: true,
    },
    Tool {
        name: "chromium",
        why: "runs the web page's tests",
        programs: &["chromium"],
        packages: &["chromium"],
        aside: false,
    },
    Tool {
        name: "valgrind",
        why: "counts instructions on the host",
        programs: &["valgrind"],
        packages: &["valgrind"],
        aside: false,
    },
    Tool {
        name: "python",
        why: "runs the oracle that writes the vectors",
        programs: &["python3"],
        packages: &["python3"],
        aside: false,
    },
];

/// Names the browser to a test in Node, unless the user does.
pub fn browser(test: &mut Command) {
    if let (None, Some(path)) = (env::var_os("CHROMIUM"), installed("chromium")) {
        test.env("CHROMIUM", path);
    }
}

impl Tool {
    pub fn is_there(&self) -> bool {
        self.programs
            .iter()
            .all(|program| on_path(program) || (self.aside && aside::holds(program)))
    }

    pub fn packages(&self) -> String {
        self.packages.join(" ")
    }

    /// The command that installs it, for messages.
    pub fn how(&self) -> String {
        match self.aside {
            true => format!("apt-get download {}, unpacked below target", self.packages()),
            false => format!("apt-get install {}", self.packages()),
        }
    }

    pub fn bring(&self) -> Result<()> {
        let result = match self.aside {
            true => aside::bring(self.packages),
            false => apt::install(self.packages),
        };
        let missing =
            |why: String| anyhow!("{} is missing ({why}): install {}", self.name, self.packages());
        match result {
            Err(error) => Err(missing(error.to_string())),
            Ok(()) if !self.is_there() => Err(missing("its packages lack it".into())),
            Ok(()) => Ok(()),
        }
    }
}
