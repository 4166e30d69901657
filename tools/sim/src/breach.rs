//! What must not happen, whatever the law. It is checked at every step, in every build: a run that
//! breaks a promise has no figures.

use tidegate::Instant;

/// Something that must not happen, whatever the law: the law or the world has a defect.
#[derive(Clone, Debug, thiserror::Error, PartialEq)]
#[error("at {at} ns of virtual time, {what}", at = .at.as_nanos())]
pub struct Broken {
    /// When.
    pub at: Instant,
    /// What.
    pub what: Breach,
}

/// A broken promise.
#[derive(Clone, Debug, thiserror::Error, PartialEq)]
pub enum Breach {
    /// A wait that is none would let its thread spin.
    #[error("process {process} must wait until {until} ns, which is not later", until = .until.as_nanos())]
    ZeroWait {
        /// The process.
        process: u32,
        /// What it was told.
        until: Instant,
    },
    /// The last event is over, but not all threads are done.
    #[error("nothing is left to happen, but {unfinished} threads have not finished")]
    Idle {
        /// How many.
        unfinished: u64,
    },
    /// A process without a call in flight must wait for one to settle.
    #[error("process {process} has no call in flight, but must wait until one settles")]
    Stuck {
        /// The process.
        process: u32,
    },
    /// The throttle counts other permits than there are calls.
    #[error("process {process} has {calls} calls in flight, but its throttle counts {permits}")]
    Permits {
        /// The process.
        process: u32,
        /// Calls in flight.
        calls: u32,
        /// Permits out.
        permits: u32,
    },
    /// A call is in no book, or in two.
    #[error("{begun} calls were begun, but {known} are known to be somewhere")]
    Lost {
        /// How many were begun.
        begun: u64,
        /// How many are accounted for.
        known: u64,
    },
    /// A call that was served is to be tried again.
    #[error("process {process} wants to retry a call that was served")]
    Again {
        /// The process.
        process: u32,
    },
    /// The server's books are wrong.
    #[error("{0}")]
    Server(&'static str),
}
