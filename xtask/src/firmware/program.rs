//! A program beside this one that ends with its owner, however that ends.

use std::io;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

/// How often the end of a program is looked for.
const TICK: Duration = Duration::from_millis(20);

/// A program that runs, or has ended.
pub struct Program(pub Child);

impl Program {
    /// Starts it.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        command.spawn().map(Self)
    }

    /// How it has ended, or nothing where it had to be stopped.
    pub fn end(&mut self, patience: Duration) -> io::Result<Option<ExitStatus>> {
        let since = Instant::now();
        loop {
            if let Some(status) = self.0.try_wait()? {
                return Ok(Some(status));
            }
            if since.elapsed() >= patience {
                self.0.kill()?;
                self.0.wait()?;
                return Ok(None);
            }
            std::thread::sleep(TICK);
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
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
        let mut program = Program::start(sleep.arg("600").stdout(Stdio::piped())).unwrap();
        let mut output = program.0.stdout.take().unwrap();
        drop(program);
        // Nobody writes there any more.
        assert_eq!(output.read(&mut [0]).unwrap(), 0);
    }

    #[test]
    fn one_that_does_not_end_is_stopped_and_one_that_does_says_how() {
        let mut sleep = Command::new("sleep");
        assert!(Program::start(sleep.arg("600")).unwrap().end(TICK).unwrap().is_none());
        let mut fails = Command::new("false");
        let status = Program::start(&mut fails).unwrap().end(Duration::from_secs(60)).unwrap();
        assert_eq!(status.and_then(|status| status.code()), Some(1));
    }
}
