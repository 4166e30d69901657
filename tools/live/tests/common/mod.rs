//! Starts the real binary and reads its output.
#![allow(dead_code)]

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A time limit far longer than any test takes.
pub const PATIENCE: Duration = Duration::from_secs(300);

pub fn tidegate_live(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate-live"));
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

pub fn outcome(args: &[&str]) -> Output {
    tidegate_live(args).output().expect("the binary starts")
}

/// Runs a demo with `--json` and returns its document.
pub fn demo_json(args: &[&str]) -> Value {
    let output = outcome(&[&["demo", "--json"], args].concat());
    assert!(output.status.success(), "{args:?}: {output:?}");
    serde_json::from_slice(&output.stdout).expect("standard output is one JSON document")
}

/// Waits for `done`, and fails with `what` after the time limit.
pub fn until(what: &str, mut done: impl FnMut() -> bool) {
    let started = Instant::now();
    while !done() {
        assert!(started.elapsed() < PATIENCE, "{what}: still not so after {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits for a process to end. If it does not, the process is killed and the test fails.
pub fn end(mut child: Child) -> Output {
    let started = Instant::now();
    while child.try_wait().expect("the child can be waited for").is_none() {
        if started.elapsed() > PATIENCE {
            let _ = child.kill();
            panic!("the process did not end within {PATIENCE:?}");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.wait_with_output().expect("its output can be read")
}

/// A program. It is killed if a test fails.
pub struct Program(pub Option<Child>);

impl Program {
    /// Interrupts the program, and waits for it to end.
    pub fn interrupt(&mut self) -> Output {
        let child = self.0.take().unwrap();
        kill_process(Pid::from_raw(child.id().try_into().unwrap()).unwrap(), Signal::INT).unwrap();
        end(child)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
        }
    }
}

/// The response to a request such as `GET /`. Each header has its line end.
pub fn answer(server: impl ToSocketAddrs, request: &str, headers: &str) -> Vec<u8> {
    let mut stream = TcpStream::connect(server).unwrap();
    write!(stream, "{request} HTTP/1.1\r\nConnection: close\r\n{headers}\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    answer
}

pub fn number(run: &Value, key: &str) -> f64 {
    run[key].as_f64().unwrap_or_else(|| panic!("{key} is a number in {run}"))
}
