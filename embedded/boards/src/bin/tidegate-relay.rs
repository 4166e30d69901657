//! `tidegate-relay PORT`: connects standard input and output to a loopback port.
//!
//! QEMU starts it for each connection of an emulated board, so that the board reaches one server
//! only.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpStream};
use std::os::fd::AsFd;
use std::thread;

/// Copies bytes both ways until the server closes.
fn main() -> io::Result<()> {
    let port = std::env::args().nth(1).and_then(|port| port.parse().ok());
    let port = port.ok_or(io::ErrorKind::InvalidInput)?;
    let server = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    server.set_nodelay(true)?;
    // As files, because Rust's stdout is line-buffered.
    let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let there = server.try_clone()?;
    thread::spawn(move || {
        let ended = carry(&input, &there);
        // A half-closed connection may continue; a broken one cannot.
        let half = if ended.is_ok() { Shutdown::Write } else { Shutdown::Both };
        _ = there.shutdown(half);
    });
    _ = carry(&server, &output);
    Ok(())
}

fn carry(mut from: impl Read, mut to: impl Write) -> io::Result<()> {
    let mut room = [0; 4096];
    loop {
        match from.read(&mut room)? {
            0 => return Ok(()),
            length => to.write_all(&room[..length])?,
        }
    }
}
