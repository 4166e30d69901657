//! After every run, no process and no bound port remain.
#![cfg(target_os = "linux")]

mod common;

use common::{Program, end, number, tidegate_live, until};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;

/// A demo in its second second, in a separate process group like a job of a shell.
struct Running {
    program: Program,
    clients: Vec<u32>,
    /// The inode of the listening socket. Unlike a port, it cannot be reused by another process.
    listener: String,
}

impl Running {
    fn start(law: &str) -> Self {
        let args = ["demo", "--json", "--seconds", "60", "--law", law];
        let mut child = tidegate_live(&args).process_group(0).spawn().unwrap();
        // The first line of progress appears after a second.
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        errors.read_line(&mut line).unwrap();
        assert!(line.starts_with(law), "{line}");
        // The rest is drained so that a full pipe cannot block the demo.
        std::thread::spawn(move || errors.read_to_end(&mut Vec::new()));
        let clients = children(child.id());
        assert_eq!(clients.len(), 4, "the fleet has four processes");
        let own = sockets(child.id());
        let listener = listening().into_iter().find(|inode| own.contains(inode)).unwrap();
        Running { program: Program(Some(child)), clients, listener }
    }

    fn pid(&self) -> u32 {
        self.program.0.as_ref().unwrap().id()
    }

    /// The report of the interrupted run, once nothing is left of it.
    fn report(&mut self) -> Value {
        let output = end(self.program.0.take().unwrap());
        assert_eq!(output.status.code(), Some(130));
        let mut document: Value = serde_json::from_slice(&output.stdout).expect("a JSON document");
        assert_eq!(document["interrupted"], true);
        let run = document["runs"][0].take();
        assert!(number(&run, "served") > 0.0, "{run}");
        self.assert_nothing_is_left();
        run
    }

    fn assert_nothing_is_left(&self) {
        for pid in &self.clients {
            until("a client has ended", || !is_alive(*pid));
        }
        until("the port is free", || !listening().contains(&self.listener));
    }
}

fn id(pid: u32) -> Pid {
    Pid::from_raw(pid.try_into().unwrap()).unwrap()
}

fn stat(pid: u32) -> Option<(char, u32)> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may contain anything.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

fn children(parent: u32) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| stat(*pid).is_some_and(|stat| stat.1 == parent))
        .collect()
}

fn sockets(pid: u32) -> Vec<String> {
    let files = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten();
    let links = files.filter_map(|file| std::fs::read_link(file.path()).ok());
    links
        .filter_map(|link| {
            Some(link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned())
        })
        .collect()
}

/// The inodes of all listening sockets on this machine.
fn listening() -> Vec<String> {
    const LISTEN: &str = "0A";
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let rows = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    rows.filter(|row| row[3] == LISTEN).map(|row| row[9].to_owned()).collect()
}

/// Whether a process runs. A zombie counts as ended.
fn is_alive(pid: u32) -> bool {
    stat(pid).is_some_and(|stat| stat.0 != 'Z')
}

#[test]
fn a_signal_to_the_whole_group_or_to_the_parent_alone_ends_the_run_with_a_report() {
    let (group, parent) = (kill_process_group, kill_process);
    for (law, signal, send) in [
        ("aimd", Signal::INT, group as fn(Pid, Signal) -> _),
        ("none", Signal::INT, group),
        ("aimd", Signal::HUP, group),
        ("backoff", Signal::TERM, parent),
    ] {
        let mut running = Running::start(law);
        send(id(running.pid()), signal).unwrap();
        let run = running.report();
        assert!(number(&run, "seconds") < 60.0, "{run}");
        assert_eq!(number(&run, "lost"), 0.0, "{run}");
    }
}

#[test]
fn clients_do_not_outlive_a_killed_parent() {
    let mut running = Running::start("none");
    let mut parent = running.program.0.take().unwrap();
    parent.kill().unwrap();
    parent.wait().unwrap();
    running.assert_nothing_is_left();
}

#[test]
fn the_run_continues_after_a_client_dies() {
    let mut running = Running::start("aimd");
    kill_process(id(running.clients[0]), Signal::KILL).unwrap();
    until("the client has ended", || !is_alive(running.clients[0]));
    assert!(running.clients[1..].iter().all(|pid| is_alive(*pid)), "the others continue");
    kill_process(id(running.pid()), Signal::INT).unwrap();
    running.report();
}
