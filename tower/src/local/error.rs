//! Why a request to the process that holds the budget failed.

use std::fmt;
use std::io;
use std::sync::Arc;

/// Why a request to the process that holds the budget failed. Calls continue within the share of
/// this process. [`Gate::trouble`](crate::Gate::trouble) returns it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LocalError {
    what: Arc<str>,
}

impl LocalError {
    pub(super) fn new(what: impl Into<Arc<str>>) -> Self {
        Self { what: what.into() }
    }

    pub(super) fn key(length: usize) -> Self {
        Self::new(format!("a key of {length} bytes cannot be shared: the limit is 65535"))
    }

    pub(super) fn too_long(length: usize) -> Self {
        Self::new(format!("a message of {length} bytes exceeds the limit of 4096"))
    }

    pub(super) fn version(other: u8, own: u8) -> Self {
        Self::new(format!(
            "the other process speaks version {other} of the local protocol, and this one version {own}: \
             update the older tidegate"
        ))
    }

    pub(super) fn stranger() -> Self {
        Self::new("another program than tidegate uses the socket: choose another name")
    }

    /// An error that contains the system's message, and says that calls continue.
    pub(super) fn unusable(what: fmt::Arguments<'_>, error: &io::Error) -> Self {
        Self::new(format!("{what}: {error}. Calls continue within the share of this process"))
    }
}

impl fmt::Display for LocalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for LocalError {}
