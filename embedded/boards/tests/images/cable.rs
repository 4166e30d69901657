//! The network link between a board and this machine, which can be interrupted.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use tidegate_boards::Board;

/// Its target: a loopback port, at the one address that boards use.
pub struct Cable {
    board: Board,
    /// Where QEMU takes commands.
    socket: PathBuf,
    seen_as: u16,
    port: u16,
}

impl Cable {
    /// Connects a board's port `seen_as` to `port` here.
    pub fn new(board: Board, seen_as: u16, port: u16) -> Self {
        let name = format!("tidegate-{}-{}-{port}.sock", std::process::id(), board.machine());
        Self { board, socket: std::env::temp_dir().join(name), seen_as, port }
    }

    /// QEMU's arguments: one server at one address, and nothing else.
    pub fn options(&self) -> Vec<String> {
        let world = format!(
            "user,id=n0,restrict=on,guestfwd=tcp:10.0.2.100:{}-cmd:{} {}",
            self.seen_as,
            env!("CARGO_BIN_EXE_tidegate-relay"),
            self.port
        );
        let control = format!("unix:{},server=on,wait=off", self.socket.display());
        let nic = format!("{world},model=lan9118");
        let card: &[&str] = match self.board {
            Board::Virt => &["-netdev", &world, "-device", "virtio-net-device,netdev=n0"],
            Board::Microbit | Board::Mps2 => &["-nic", &nic],
        };
        [card, &["-qmp", &control]].concat().iter().map(ToString::to_string).collect()
    }

    /// Interrupts the link and restores it later.
    pub fn lose(&self, time: Duration) {
        let socket = self.socket.clone();
        thread::spawn(move || {
            // If QEMU has ended, there is nothing to restore.
            _ = set(&socket, false);
            thread::sleep(time);
            _ = set(&socket, true);
        });
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        _ = std::fs::remove_file(&self.socket);
    }
}

/// Each command has one line of answer; the first line is a greeting.
fn set(socket: &Path, up: bool) -> io::Result<()> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    let mut answers = BufReader::new(stream.try_clone()?);
    let mut answer = String::new();
    answers.read_line(&mut answer)?;
    let link = format!(r#""set_link","arguments":{{"name":"n0","up":{up}}}"#);
    for command in [r#""qmp_capabilities""#, &link] {
        writeln!(stream, "{{\"execute\":{command}}}")?;
        answers.read_line(&mut answer)?;
    }
    Ok(())
}
