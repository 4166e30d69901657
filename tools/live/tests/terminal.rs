//! The live view on a real pseudo-terminal.
#![cfg(target_os = "linux")]

mod common;

use common::{end, tidegate_live, until};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

/// A terminal of 80 by 24 characters: the end for the program, and the end for the test.
fn terminal() -> (File, File) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&ours, size).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap();
    let theirs = OpenOptions::new().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    (theirs, File::from(ours))
}

#[test]
fn a_taken_port_is_reported_before_anything_is_drawn() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let (theirs, mut ours) = terminal();
    let mut command = tidegate_live(&["demo", "--port", &port]);
    command.env("TERM", "xterm-256color").stdin(theirs.try_clone().unwrap());
    let output = end(command.stdout(theirs).spawn().unwrap());
    drop(command);

    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("--port"));
    // Linux reports a closed other end as an error.
    let mut shown = Vec::new();
    let _ = ours.read_to_end(&mut shown);
    assert_eq!(String::from_utf8_lossy(&shown), "", "nothing was drawn");
}

#[test]
fn q_closes_the_view_restores_the_terminal_and_prints_the_report() {
    let (theirs, mut ours) = terminal();
    let mut command = tidegate_live(&["demo", "--law", "adaptive", "--seconds", "60"]);
    command.env("TERM", "xterm-256color").stdin(theirs.try_clone().unwrap());
    let child = command.stdout(theirs).spawn().unwrap();
    // The command holds the program's end of the terminal, which must close with the program.
    drop(command);

    let screen = Arc::new(Mutex::new(Vec::new()));
    let (mut reader, shown) = (ours.try_clone().unwrap(), screen.clone());
    let reading = std::thread::spawn(move || {
        let mut piece = [0; 4096];
        while let Ok(length @ 1..) = reader.read(&mut piece) {
            shown.lock().unwrap().extend_from_slice(&piece[..length]);
        }
    });
    let text = || String::from_utf8_lossy(&screen.lock().unwrap()).into_owned();
    for word in
        ["\u{1b}[?1049h", "the fleet", "the API", "capacity", "decided by", "rejections", "█"]
    {
        until(&format!("{word:?} is on the screen"), || text().contains(word));
    }
    assert!(!text().contains("utilisation"), "the report comes at the end");

    ours.write_all(b"q").unwrap();
    assert_eq!(end(child).status.code(), Some(130));
    reading.join().unwrap();
    let text = text();
    let (view, report) = text.split_once("\u{1b}[?1049l").expect("the terminal is restored");
    assert!(!view.contains("utilisation"));
    assert!(report.contains("utilisation"), "{report}");
}
