//! `uplink`: 200 batches through a server of five calls a second that is down for 20 s, and over a
//! link that is lost for 5 s.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::firmware::{Board, Run, numbers, told};
use crate::progress;
use crate::workspace::{cargo, root};

/// It takes a minute and a half; a busy machine takes longer.
const LIMIT: Duration = Duration::from_secs(240);

const BATCHES: u64 = 200;
/// Of all calls that the server decides, so many in a hundred may be refusals.
const THROTTLED: u64 = 5;

/// When the link is lost: as the board says that it has come so far.
const LOST_AT: &str = "uplink: 120 of";
const LOST_FOR: Duration = Duration::from_secs(5);

/// Builds the server.
pub fn build_server() -> Result<()> {
    let mut build = cargo("build");
    build.args(["--release", "--package", "tidegate-live"]);
    let ended = progress::run("building the server", build, None)?;
    ensure!(ended.success(), "tests/live does not build:\n{}", ended.output);
    Ok(())
}

/// Runs it, and holds what the board says against what the server has counted.
pub fn run(board: Board, folder: &PathBuf) -> Result<()> {
    let server = Server::start()?;
    let cable = Cable::new(board);
    let run =
        Run { board, folder, image: "uplink", options: cable.options(server.port)?, limit: LIMIT };
    let log = run.to_its_end(|line| {
        if line.contains(LOST_AT) {
            cable.lose();
        }
    })?;
    judge(&log, server.counts()?).with_context(|| format!("the log:\n{log}"))
}

/// What the server has counted.
#[derive(Clone, Copy, Debug)]
struct Counts {
    served: u64,
    throttled: u64,
    outage: u64,
}

fn judge(log: &str, counts: Counts) -> Result<()> {
    let Counts { served, throttled, outage } = counts;
    let end = told(log, "uplink: 200 delivered");
    let end = numbers(end.first().context("the board does not say that all are delivered")?)?;
    let [delivered, _dropped, unanswered, in_holds] = end[..] else {
        anyhow::bail!("the board's last words are others than expected: {end:?}");
    };
    ensure!(delivered == BATCHES, "{delivered} batches delivered, not {BATCHES}");
    ensure!(in_holds == 0, "{in_holds} calls have left while the server had asked for none");
    ensure!(served >= BATCHES, "the server has served {served} calls only: a batch is lost");
    // A batch is sent again only where its answer was lost.
    ensure!(
        served - BATCHES <= unanswered,
        "the server has served {served} calls, and only {unanswered} had no answer: some batches \
         were sent twice for nothing"
    );
    ensure!(outage > 0, "the server was never down: the run was too short to show anything");
    ensure!(throttled > 0, "the server has refused nothing: the run shows nothing");
    ensure!(!told(log, "uplink: the link is down").is_empty(), "the link was never lost");
    ensure!(
        throttled * 100 <= (served + throttled) * THROTTLED,
        "{throttled} of {} calls were refused: more than {THROTTLED} %",
        served + throttled
    );
    Ok(())
}

/// The real server of tests/live, on a free port of the loopback interface.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn start() -> Result<Self> {
        let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
        let program = target.unwrap_or_else(|| root().join("target")).join("release/tidegate-live");
        let mut command = Command::new(&program);
        command.args(["serve", "--limit", "5", "--burst", "5", "--outage", "15s..35s"]);
        command.args(["--hints", "retry-after"]);
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("{} does not start", program.display()))?;
        let mut line = String::new();
        let output = child.stdout.take().context("the server has no output")?;
        BufReader::new(output).read_line(&mut line)?;
        let port = line.split(['/', ' ', ':']).find_map(|word| word.parse().ok());
        let Some(port) = port else {
            _ = child.kill();
            anyhow::bail!("the server does not say its port: {line}");
        };
        Ok(Self { child, port })
    }

    /// Asks it, as anybody may.
    fn counts(&self) -> Result<Counts> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
        write!(stream, "GET /counts HTTP/1.1\r\nHost: api\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let count = |name: &str| -> Result<u64> {
            let found = answer.split_once(&format!("\"{name}\":"));
            let digits = found.map(|(_, rest)| rest.split([',', '}']).next().unwrap_or_default());
            let number = digits.and_then(|digits| digits.trim().parse().ok());
            number.with_context(|| format!("the server does not count `{name}`: {answer}"))
        };
        Ok(Counts {
            served: count("served")?,
            throttled: count("throttled")?,
            outage: count("outage")?,
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// The cable between a board and this machine, which can be pulled out.
pub struct Cable {
    board: Board,
    /// Where QEMU takes commands.
    socket: PathBuf,
}

impl Cable {
    /// One for this board.
    pub fn new(board: Board) -> Self {
        let name = format!("tidegate-{}-{}.sock", std::process::id(), board.name());
        Self { board, socket: std::env::temp_dir().join(name) }
    }

    /// What QEMU is told: one server behind one address, and nothing else in the world.
    pub fn options(&self, port: u16) -> Result<Vec<String>> {
        let relay = std::env::current_exe().context("this program does not know where it is")?;
        let world = format!(
            "user,id=n0,restrict=on,guestfwd=tcp:10.0.2.100:80-cmd:{} relay {port}",
            relay.display()
        );
        let control = format!("unix:{},server=on,wait=off", self.socket.display());
        let nic = format!("{world},model=lan9118");
        let card: &[&str] = match self.board {
            Board::Virt => &["-netdev", &world, "-device", "virtio-net-device,netdev=n0"],
            Board::Microbit | Board::Mps2 => &["-nic", &nic],
        };
        Ok([card, &["-qmp", &control]].concat().iter().map(ToString::to_string).collect())
    }

    /// Pulls it out, and puts it in again a while later.
    pub fn lose(&self) {
        let socket = self.socket.clone();
        thread::spawn(move || {
            // Where QEMU has gone in the meantime, there is nothing to put in again.
            _ = set(&socket, false);
            thread::sleep(LOST_FOR);
            _ = set(&socket, true);
        });
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        _ = std::fs::remove_file(&self.socket);
    }
}

fn set(socket: &Path, up: bool) -> Result<()> {
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
