//! mosquitto, the real MQTT broker, on a loopback port, with a subscriber.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tidegate_boards::{Program, root};

/// How long the broker may take to listen, or to end.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(20);

/// A broker, and its one subscriber, which writes the messages to a file.
pub struct Mosquitto {
    broker: Program,
    _subscriber: Program,
    folder: PathBuf,
    pub port: u16,
}

impl Mosquitto {
    /// A broker that accepts this many messages of a client at once, with this folder.
    pub fn start(name: &str, at_once: u16) -> Self {
        let folder = root().join("target/firmware").join(name);
        _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        // A free port, fixed because the broker must return to it after a restart.
        let port =
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        let config = format!(
            "listener {port} 127.0.0.1\nallow_anonymous true\nuser root\n\
             max_inflight_messages {at_once}\nmax_queued_messages 0\n\
             persistence true\npersistence_location {}/\n",
            folder.display()
        );
        fs::write(folder.join("mosquitto.conf"), config).unwrap();
        let broker = broker(&folder, port);
        // Waits until the broker has acknowledged the subscription: from then on, nothing is lost.
        let seconds = PATIENCE.as_secs().to_string();
        let subscribed = subscriber(port).args(["-E", "-W", &seconds]).status().unwrap();
        assert!(subscribed.success(), "mosquitto_sub cannot subscribe: {subscribed}");
        let heard = File::create(folder.join("heard")).unwrap();
        let subscriber = Program::start(subscriber(port).stdout(heard));
        Self { broker, _subscriber: subscriber, folder, port }
    }

    /// Shuts the broker down properly and starts it again.
    pub fn restart(&mut self, away: Duration) {
        let terminated = Command::new("kill").arg(self.broker.0.id().to_string()).status();
        assert!(terminated.unwrap().success());
        let since = Instant::now();
        while self.broker.0.try_wait().unwrap().is_none() {
            assert!(since.elapsed() < PATIENCE, "mosquitto does not end");
            thread::sleep(PAUSE);
        }
        thread::sleep(away);
        self.broker = broker(&self.folder, self.port);
    }

    /// How often each message has arrived at the broker, once there are this many: queued messages arrive later. What the
    /// broker sends to the subscriber again, after a restart, has the same packet identifier.
    pub fn heard(&self, messages: usize) -> BTreeMap<String, u64> {
        let since = Instant::now();
        loop {
            let mut heard = BTreeMap::new();
            let lines = fs::read_to_string(self.folder.join("heard")).unwrap();
            let packets: BTreeSet<&str> = lines.lines().collect();
            for (_, message) in packets.iter().filter_map(|packet| packet.split_once(' ')) {
                *heard.entry(message.to_owned()).or_default() += 1;
            }
            if heard.len() >= messages || since.elapsed() > PATIENCE {
                return heard;
            }
            thread::sleep(PAUSE);
        }
    }
}

/// The session and its queue survive the subscriber and the broker's restart.
fn subscriber(port: u16) -> Command {
    let mut command = Command::new("mosquitto_sub");
    command.args(["-h", "127.0.0.1", "-p", &port.to_string(), "-V", "mqttv5"]);
    command.args(["-q", "1", "-c", "-x", "3600", "-i", "listener", "-t", "telemetry"]);
    command.args(["-F", "%m %p"]);
    command.stdin(Stdio::null()).stderr(Stdio::null());
    command
}

/// Starts it and waits until it listens.
fn broker(folder: &Path, port: u16) -> Program {
    let log = folder.join("mosquitto.log");
    let mut command = Command::new("mosquitto");
    command.arg("-c").arg(folder.join("mosquitto.conf")).current_dir(folder);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(&log).unwrap());
    let mut broker = Program::start(&mut command);
    let since = Instant::now();
    while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
        if since.elapsed() > PATIENCE || broker.0.try_wait().unwrap().is_some() {
            panic!("mosquitto does not listen:\n{}", fs::read_to_string(&log).unwrap_or_default());
        }
        thread::sleep(PAUSE);
    }
    broker
}
