//! The memory of this process and the processor time of this thread, if the system reports them.

use std::fs;
use std::time::Duration;

/// Clock ticks per second, as Linux reports them.
const TICKS: u64 = 100;

/// The most resident memory so far, in KiB.
pub(crate) fn most_memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

pub(crate) fn processor() -> Option<Duration> {
    let stat = fs::read_to_string("/proc/thread-self/stat").ok()?;
    // The name, in parentheses, may contain anything.
    let mut words = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut ticks = || words.next()?.parse::<u64>().ok();
    Some(Duration::from_millis((ticks()? + ticks()?) * 1_000 / TICKS))
}
