//! Violations of promises that hold for every law. They are checked at every step of every build,
//! and a run that violates one has no figures.

use tidegate::Instant;

/// A violation: the law or the simulator has a defect.
#[derive(Clone, Debug, thiserror::Error, PartialEq)]
#[error("at {at} ns of virtual time, {what}", at = .at.as_nanos())]
pub struct Broken {
    pub at: Instant,
    pub what: Breach,
}

#[derive(Clone, Debug, thiserror::Error, PartialEq)]
pub enum Breach {
    /// A wait that is not in the future would let its thread spin.
    #[error("process {process} must wait until {until} ns, which is not later", until = .until.as_nanos())]
    ZeroWait { process: u32, until: Instant },
    /// No event is pending, but threads have not finished.
    #[error("no events are left, but {unfinished} threads have not finished")]
    Idle { unfinished: u64 },
    /// A process without a call in flight has to wait for one to settle.
    #[error("process {process} has no call in flight, but must wait until one settles")]
    Stuck { process: u32 },
    /// The throttle's count of permits differs from the number of calls in flight.
    #[error("process {process} has {calls} calls in flight, but its throttle counts {permits}")]
    Permits { process: u32, calls: u32, permits: u32 },
    #[error("process {process} wants to retry a call that was served")]
    Again { process: u32 },
}
