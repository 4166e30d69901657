//! A small MQTT 5 broker that sends what mosquitto never does: connection rate exceeded (0x9F),
//! server busy (0x89), quota exceeded (0x97).

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

/// The reason codes that reject the first connections.
const THROTTLED: [u8; 2] = [0x9F, 0x89];
/// How many messages it takes at once.
pub const AT_ONCE: u16 = 2;
/// Processing time of a message.
const THOUGHT: Duration = Duration::from_millis(20);
/// Its token bucket: one message in this time, and the burst.
const REGAIN: Duration = Duration::from_millis(100);
const BURST: u32 = 5;
/// Its Server Keep Alive in seconds. It closes a connection that is silent for one and a half of it.
const KEEP_ALIVE: u16 = 2;
/// After this many messages it closes the connection once, as busy.
const BUSY_AFTER: u32 = 60;

/// What it has observed.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    pub connections: usize,
    pub accepted: BTreeSet<String>,
    /// Messages that were accepted twice.
    pub twice: u32,
    pub over_quota: u32,
    pub pings: u32,
    /// The most messages in flight at once.
    pub most_at_once: u16,
    taken: u32,
    /// When its bucket is full again.
    full: Option<Instant>,
    was_busy: bool,
}

/// Shared with its threads.
#[derive(Clone, Default)]
struct Desk(Arc<Mutex<Seen>>);

impl Desk {
    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A broker on a free loopback port. It serves as long as this program runs.
pub struct Broker {
    desk: Desk,
    pub port: u16,
}

impl Broker {
    pub fn start() -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let (port, desk) = (listener.local_addr()?.port(), Desk::default());
        let here = desk.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let desk = here.clone();
                thread::spawn(move || {
                    _ = serve(&stream, &desk);
                    _ = stream.shutdown(Shutdown::Both);
                });
            }
        });
        Ok(Self { desk, port })
    }

    /// What it has observed so far.
    pub fn seen(&self) -> Seen {
        self.desk.lock().clone()
    }
}

fn serve(stream: &TcpStream, desk: &Desk) -> Result<()> {
    stream.set_nodelay(true)?;
    let (kind, _) = packet(stream)?;
    ensure!(kind >> 4 == 1, "the first packet is not a CONNECT");
    let number = {
        let mut seen = desk.lock();
        seen.connections += 1;
        seen.connections
    };
    if let Some(reason) = THROTTLED.get(number - 1) {
        return Ok((&*stream).write_all(&[0x20, 3, 0, *reason, 0])?);
    }
    // CONNACK with two properties: Receive Maximum and Server Keep Alive.
    let [high, low] = AT_ONCE.to_be_bytes();
    let [long, short] = KEEP_ALIVE.to_be_bytes();
    (&*stream).write_all(&[0x20, 9, 0, 0, 6, 0x21, high, low, 0x13, long, short])?;
    stream.set_read_timeout(Some(Duration::from_secs(KEEP_ALIVE.into()) * 3 / 2))?;
    let (sender, thinking) = mpsc::channel::<(Instant, [u8; 5])>();
    // Per connection: a closed one may still be processing its last messages.
    let at_once = Arc::new(AtomicU16::new(0));
    let (answers, here) = (stream.try_clone()?, at_once.clone());
    thread::spawn(move || {
        for (due, answer) in thinking {
            thread::sleep(due.saturating_duration_since(Instant::now()));
            // Before sending the answer: the next message may arrive right after it.
            here.fetch_sub(1, Ordering::Relaxed);
            if (&answers).write_all(&answer).is_err() {
                break;
            }
        }
    });
    loop {
        let (kind, body) = packet(stream)?;
        match kind >> 4 {
            3 => {
                let (id, payload) = publish(&body)?;
                let at_once = at_once.fetch_add(1, Ordering::Relaxed) + 1;
                let Some(reason) = decide(desk, at_once, payload) else {
                    return Ok((&*stream).write_all(&[0xE0, 2, 0x89, 0])?);
                };
                let answer = [0x40, 3, id[0], id[1], reason];
                sender
                    .send((Instant::now() + THOUGHT, answer))
                    .context("no connection left to answer")?;
            }
            12 => {
                desk.lock().pings += 1;
                (&*stream).write_all(&[0xD0, 0])?;
            }
            14 => return Ok(()),
            other => bail!("a packet of kind {other} is not for a broker"),
        }
    }
}

/// The reason code for a message, given how many its connection has in flight; `None` if the
/// connection is closed instead.
fn decide(desk: &Desk, at_once: u16, payload: &[u8]) -> Option<u8> {
    let mut seen = desk.lock();
    if seen.taken >= BUSY_AFTER && !seen.was_busy {
        seen.was_busy = true;
        return None;
    }
    seen.most_at_once = seen.most_at_once.max(at_once);
    let now = Instant::now();
    let full = seen.full.unwrap_or(now).max(now);
    if full - now > REGAIN * (BURST - 1) {
        seen.over_quota += 1;
        return Some(0x97);
    }
    seen.full = Some(full + REGAIN);
    seen.taken += 1;
    if !seen.accepted.insert(String::from_utf8_lossy(payload).into_owned()) {
        seen.twice += 1;
    }
    Some(0)
}

/// A packet: its first byte and its content.
fn packet(mut stream: &TcpStream) -> Result<(u8, Vec<u8>)> {
    let mut byte = [0];
    stream.read_exact(&mut byte)?;
    let kind = byte[0];
    let mut length = 0;
    for shift in [0, 7, 14, 21] {
        stream.read_exact(&mut byte)?;
        length |= usize::from(byte[0] & 0x7F) << shift;
        if byte[0] & 0x80 == 0 {
            break;
        }
    }
    ensure!(length <= 4096, "a packet of {length} bytes is too long");
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    Ok((kind, body))
}

/// The number and payload of a PUBLISH with QoS 1 and without properties.
fn publish(body: &[u8]) -> Result<([u8; 2], &[u8])> {
    let short = || anyhow::anyhow!("a PUBLISH is too short");
    let (length, rest) = body.split_first_chunk().ok_or_else(short)?;
    let rest = rest.get(usize::from(u16::from_be_bytes(*length))..).ok_or_else(short)?;
    let (id, rest) = rest.split_first_chunk().ok_or_else(short)?;
    match rest {
        [0, payload @ ..] => Ok((*id, payload)),
        _ => bail!("a PUBLISH has properties, which this broker does not read"),
    }
}
