//! Ctrl-C and other signals: child processes end first, then this process.

use std::collections::HashMap;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, exit};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, kill_process_group, waitpid};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// How often a program is checked for its end.
const TICK: Duration = Duration::from_millis(20);
/// How long a tool may take to end before it is killed.
const PATIENCE: Duration = Duration::from_secs(5);

/// Each child, and whether it leads a group with everything that it has started.
fn running() -> MutexGuard<'static, HashMap<Pid, bool>> {
    static RUNNING: LazyLock<Mutex<HashMap<Pid, bool>>> = LazyLock::new(Mutex::default);
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
        // Under the lock, so that a signal comes before the start or finds the child.
        let mut running = running();
        let child = command.spawn()?;
        running.insert(Pid::from_child(&child), leads);
        Ok(Self(child))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
        running().remove(&Pid::from_child(&self.0));
    }
}

/// From now on, signals end the running programs and then this process.
pub fn listen() -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    thread::spawn(move || {
        let signal = signals.forever().next().unwrap_or(SIGTERM);
        // Locked until this process ends: nothing starts or goes on, so Ctrl-C is not reported as a failure.
        let running = running();
        tell(&running, Signal::TERM);
        let since = Instant::now();
        for &child in running.keys() {
            while let Ok(None) = waitpid(Some(child), WaitOptions::NOHANG) {
                if since.elapsed() > PATIENCE {
                    tell(&running, Signal::KILL);
                }
                thread::sleep(TICK);
            }
        }
        // The exit status that a shell reports for a signal.
        exit(128 + signal);
    });
    Ok(())
}

fn tell(running: &HashMap<Pid, bool>, signal: Signal) {
    for (&child, &leads) in running {
        if leads {
            _ = kill_process_group(child, signal);
        } else if signal != Signal::KILL {
            // A program that has the terminal must restore it, so it is not killed.
            _ = kill_process(child, signal);
        }
    }
}
