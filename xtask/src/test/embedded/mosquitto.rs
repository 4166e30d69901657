//! mosquitto, the real MQTT broker, on a loopback port, with a subscriber.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::children::Program;
use crate::setup::aside;
use crate::workspace::root;

/// How long the broker may take to listen, or to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often each message has arrived.
type Heard = Arc<Mutex<BTreeMap<String, u32>>>;

/// A broker, and its one subscriber.
pub struct Mosquitto {
    broker: Program,
    _subscriber: Program,
    heard: Heard,
    folder: PathBuf,
    pub port: u16,
}

impl Mosquitto {
    /// A broker that accepts this many messages of a client at once, with this folder.
    pub fn start(name: &str, at_once: u16) -> Result<Self> {
        let folder = root().join("target/firmware").join(name);
        _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
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
        let mut subscriber = Program::tool(subscriber(port).stdout(Stdio::piped()))
            .context("mosquitto_sub does not start")?;
        let output = subscriber.0.stdout.take().context("mosquitto_sub has no output")?;
        let heard = Heard::default();
        let here = heard.clone();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                *lock(&here).entry(line).or_default() += 1;
            }
        });
        Ok(Self { broker, _subscriber: subscriber, heard, folder, port })
    }

    /// Shuts the broker down properly and starts it again.
    pub fn restart(&mut self, away: Duration) -> Result<()> {
        self.end()?;
        thread::sleep(away);
        self.broker = broker(&self.folder, self.port)?;
        Ok(())
    }

    /// How often each message has arrived, once there are this many: queued messages arrive later.
    pub fn heard(&self, messages: usize) -> BTreeMap<String, u32> {
        let since = Instant::now();
        while lock(&self.heard).len() < messages && since.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(50));
        }
        lock(&self.heard).clone()
    }

    fn end(&mut self) -> Result<()> {
        let mut terminate = Command::new("kill");
        terminate.arg(self.broker.0.id().to_string());
        ensure!(terminate.status()?.success(), "mosquitto cannot be told to end");
        ensure!(self.broker.end(PATIENCE)?.is_some(), "mosquitto does not end");
        Ok(())
    }
}

fn lock(heard: &Heard) -> std::sync::MutexGuard<'_, BTreeMap<String, u32>> {
    heard.lock().unwrap_or_else(PoisonError::into_inner)
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
fn broker(folder: &PathBuf, port: u16) -> Result<Program> {
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
