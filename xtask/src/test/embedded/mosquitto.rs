//! mosquitto, the real MQTT broker, on a loopback port, with a subscriber.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};

use crate::children::Program;
use crate::setup::aside;
use crate::workspace::{empty, root};

/// How long the broker may take to listen, or to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// A broker, and its one subscriber, which writes the messages to a file.
pub struct Mosquitto {
    broker: Program,
    _subscriber: Program,
    folder: PathBuf,
    pub port: u16,
}

impl Mosquitto {
    /// A broker that accepts this many messages of a client at once, with this folder.
    pub fn start(name: &str, at_once: u16) -> Result<Self> {
        let folder = empty(root().join("target/firmware").join(name))?;
        // A free port, fixed because the broker must return to it after a restart.
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        let config = format!(
            "listener {port} 127.0.0.1\nallow_anonymous true\nuser root\n\
             max_inflight_messages {at_once}\nmax_queued_messages 0\n\
             persistence true\npersistence_location {}/\n",
            folder.display()
        );
        fs::write(folder.join("mosquitto.conf"), config)?;
        let broker = broker(&folder, port)?;
        // Waits until the broker has acknowledged the subscription: from then on, nothing is lost.
        let seconds = PATIENCE.as_secs().to_string();
        let subscribed = subscriber(port).args(["-E", "-W", &seconds]).status();
        let subscribed = subscribed.context("mosquitto_sub does not start")?;
        ensure!(subscribed.success(), "mosquitto_sub cannot subscribe: {subscribed}");
        let heard = File::create(folder.join("heard"))?;
        let subscriber = Program::tool(subscriber(port).stdout(heard))?;
        Ok(Self { broker, _subscriber: subscriber, folder, port })
    }

    /// Shuts the broker down properly and starts it again.
    pub fn restart(&mut self, away: Duration) -> Result<()> {
        kill_process(Pid::from_child(&self.broker.0), Signal::TERM)?;
        ensure!(self.broker.end(PATIENCE)?.is_some(), "mosquitto does not end");
        thread::sleep(away);
        self.broker = broker(&self.folder, self.port)?;
        Ok(())
    }

    /// How often each message has arrived, once there are this many: queued messages arrive later.
    pub fn heard(&self, messages: usize) -> Result<BTreeMap<String, u64>> {
        let since = Instant::now();
        loop {
            let mut heard = BTreeMap::new();
            for line in fs::read_to_string(self.folder.join("heard"))?.lines() {
                *heard.entry(line.to_owned()).or_default() += 1;
            }
            if heard.len() >= messages || since.elapsed() > PATIENCE {
                return Ok(heard);
            }
            thread::sleep(Duration::from_millis(50));
        }
    }
}

/// The session and its queue survive the subscriber and the broker's restart.
fn subscriber(port: u16) -> Command {
    let mut command = aside::command("mosquitto_sub");
    command.args(["-h", "127.0.0.1", "-p", &port.to_string(), "-V", "mqttv5"]);
    command.args(["-q", "1", "-c", "-x", "3600", "-i", "listener", "-t", "telemetry"]);
    command.stdin(Stdio::null()).stderr(Stdio::null());
    command
}

/// Starts it and waits until it listens.
fn broker(folder: &Path, port: u16) -> Result<Program> {
    let log = folder.join("mosquitto.log");
    let mut command = aside::command("mosquitto");
    command.arg("-c").arg(folder.join("mosquitto.conf")).current_dir(folder);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(&log)?);
    let mut broker = Program::tool(&mut command)
        .context("mosquitto does not start; `cargo xtask setup mosquitto` installs it")?;
    let since = Instant::now();
    while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
        if since.elapsed() > PATIENCE || broker.0.try_wait()?.is_some() {
            bail!("mosquitto does not listen:\n{}", fs::read_to_string(&log).unwrap_or_default());
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(broker)
}
