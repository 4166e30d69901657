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

/// Why a connection ended before the answer.
#[derive(Clone, Debug)]
pub(super) enum Why {
    /// The process has ended.
    Ended,
    /// The process is alive and does not answer.
    Silent,
    /// It uses another protocol, or reported an error.
    Trouble(LocalError),
}

impl From<io::Error> for Why {
    fn from(_: io::Error) -> Self {
        Self::Ended
    }
}

impl From<LocalError> for Why {
    fn from(error: LocalError) -> Self {
        Self::Trouble(error)
    }
}
