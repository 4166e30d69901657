//! What a process takes: memory and processor time, where the system tells.

use std::fs;
use std::time::Duration;

/// Clock ticks a second, as Linux counts for its users.
const TICKS: u64 = 100;

/// Resident memory in KiB; `None` if there is no `/proc`.
pub(crate) fn memory(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Processor time so far; `None` if there is no `/proc`.
pub(crate) fn processor(process: u32) -> Option<Duration> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name, in parentheses, may hold anything.
    let mut words = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut ticks = || words.next()?.parse::<u64>().ok();
    Some(Duration::from_millis((ticks()? + ticks()?) * 1_000 / TICKS))
}
