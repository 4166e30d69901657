//! Programs from outside Rust: how to see that one is there, which packages bring it, and why.

use anyhow::{Result, anyhow};

use crate::apt;
use crate::workspace::on_path;

/// One row of the table.
pub struct Tool {
    pub name: &'static str,
    pub why: &'static str,
    /// The tool is there when all of these are on the PATH.
    programs: &'static [&'static str],
    packages: &'static [&'static str],
}

pub const TOOLS: [Tool; 6] = [
    Tool {
        name: "node",
        why: "runs what is built for wasm",
        programs: &["node"],
        packages: &["nodejs"],
    },
    Tool {
        name: "npm",
        why: "builds and tests the npm package",
        programs: &["npm"],
        packages: &["npm"],
    },
    Tool {
        name: "qemu",
        why: "runs the firmware images",
        programs: &["qemu-system-arm", "qemu-system-riscv32"],
        packages: &["qemu-system-arm", "qemu-system-misc"],
    },
    Tool {
        name: "chromium",
        why: "runs the web page's tests",
        programs: &["chromium"],
        packages: &["chromium"],
    },
    Tool {
        name: "valgrind",
        why: "counts instructions on the host",
        programs: &["valgrind"],
        packages: &["valgrind"],
    },
    Tool {
        name: "c++",
        why: "builds the engine of `fuzz`",
        programs: &["c++"],
        packages: &["g++"],
    },
];

impl Tool {
    pub fn is_there(&self) -> bool {
        self.programs.iter().all(|program| on_path(program))
    }

    pub fn packages(&self) -> String {
        self.packages.join(" ")
    }

    pub fn bring(&self) -> Result<()> {
        let result = apt::install(self.packages);
        let missing =
            |why: String| anyhow!("{} is missing ({why}): install {}", self.name, self.packages());
        match result {
            Err(error) => Err(missing(error.to_string())),
            Ok(()) if !self.is_there() => Err(missing("its packages lack it".into())),
            Ok(()) => Ok(()),
        }
    }
}
