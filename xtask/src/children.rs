//! Ctrl-C and other signals: child processes end first, then this process.

use std::collections::HashMap;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, exit};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// How often a program is checked for its end.
const TICK: Duration = Duration::from_millis(20);
/// How long a tool may take to end before it is killed.
const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Default)]
struct Running {
    /// Each child, and whether it leads a group with everything that it has started.
    children: HashMap<Pid, bool>,
    /// This process is ending: nothing may start or continue.
    ending: bool,
}

static RUNNING: LazyLock<Mutex<Running>> = LazyLock::new(Mutex::default);

fn running() -> MutexGuard<'static, Running> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A program beside this one. It ends with its owner or on a signal.
pub struct Program(pub Child);

impl Program {
    /// Starts a tool in its own group, so that a signal reaches its children.
    pub fn tool(command: &mut Command) -> io::Result<Self> {
        Self::start(command.process_group(0), true)
    }

    /// Starts a program that has the terminal, and ends its own children.
    pub fn in_front(command: &mut Command) -> io::Result<Self> {
        Self::start(command, false)
    }

    fn start(command: &mut Command, leads: bool) -> io::Result<Self> {
        let mut running = running();
        if running.ending {
            drop(running);
            stay();
        }
        // Under the lock, so that a signal comes before the start or finds the child.
        let child = command.spawn()?;
        running.children.insert(Pid::from_child(&child), leads);
        Ok(Self(child))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
        let mut running = running();
        running.children.remove(&Pid::from_child(&self.0));
        if running.ending {
            drop(running);
            stay();
        }
    }
}

/// Waits for the process to end, so that Ctrl-C is not reported as a failure.
fn stay() -> ! {
    loop {
        thread::park();
    }
}

/// From now on, signals end the running programs and then this process.
pub fn listen() -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    thread::spawn(move || {
        let signal = signals.forever().next().unwrap_or(SIGTERM);
        tell(Signal::TERM);
        let since = Instant::now();
        while !running().children.is_empty() {
            if since.elapsed() > PATIENCE {
                tell(Signal::KILL);
            }
            thread::sleep(TICK);
        }
        // The exit status that a shell reports for a signal.
        exit(128 + signal);
    });
    Ok(())
}

fn tell(signal: Signal) {
    let mut running = running();
    running.ending = true;
    for (&child, &leads) in &running.children {
        if leads {
            _ = kill_process_group(child, signal);
        } else if signal != Signal::KILL {
            // A program that has the terminal must restore it, so it is not killed.
            _ = kill_process(child, signal);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::process::Stdio;

    use super::*;

    #[test]
    fn it_ends_with_its_owner() {
        let mut sleep = Command::new("sleep");
        let mut program = Program::tool(sleep.arg("600").stdout(Stdio::piped())).unwrap();
        let mut output = program.0.stdout.take().unwrap();
        drop(program);
        // No program writes there any more.
        assert_eq!(output.read(&mut [0]).unwrap(), 0);
    }
}
