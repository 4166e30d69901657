//! The areas of the core that mutation tests can run on.

/// A name, and the files and folders of core/src that belong to it.
pub struct Area {
    pub name: &'static str,
    of: &'static [&'static str],
}

impl Area {
    const fn new(name: &'static str, of: &'static [&'static str]) -> Self {
        Self { name, of }
    }

    /// Whether a file belongs to this area; its path is relative to core/src.
    pub fn holds(&self, file: &str) -> bool {
        self.of.iter().any(|of| {
            file.strip_prefix(of).is_some_and(|rest| rest.is_empty() || of.ends_with('/'))
        })
    }

    /// The files and folders in a table.
    pub fn files(&self) -> String {
        self.of.join(", ")
    }
}

/// Every file of core/src is in exactly one.
pub const AREAS: [Area; 17] = [
    Area::new(
        "numbers",
        &["checked.rs", "digest.rs", "fixed.rs", "mean_cost.rs", "rate.rs", "rng.rs"],
    ),
    Area::new("time", &["time.rs", "sleep.rs", "call_time.rs"]),
    Area::new("verdict", &["verdict.rs", "outcome.rs"]),
    Area::new("hint", &["hint.rs"]),
    Area::new("backoff", &["backoff.rs"]),
    Area::new("policy", &["lib.rs", "linked.rs", "policy.rs"]),
    Area::new("gate", &["gate/"]),
    Area::new(
        "law",
        &[
            "law/any.rs",
            "law/aimd.rs",
            "law/aimd_concurrency.rs",
            "law/fixed.rs",
            "law/mod.rs",
            "law/vegas.rs",
        ],
    ),
    Area::new("published", &["law/published/"]),
    Area::new("adaptive", &["law/adaptive/"]),
    Area::new("controller", &["controller.rs", "controller/", "stats.rs"]),
    Area::new("session", &["session.rs"]),
    Area::new("keyed", &["keyed.rs", "keyed/"]),
    Area::new("queue", &["queue/"]),
    Area::new("snapshot", &["snapshot.rs"]),
    Area::new("signal", &["signal/"]),
    Area::new("shared", &["shared/"]),
];
