//! The server. It uses raw sockets because no HTTP library sends such responses.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::corpus::Response;
use crate::mood::{Act, Mood};

const LONGEST_HEAD: usize = 16 << 10;

/// A running server. Dropping it stops it and closes all connections.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    desk: Arc<Desk>,
    task: JoinHandle<()>,
}

#[derive(Debug)]
struct Desk {
    opened: Instant,
    corpus: Vec<Response>,
    connections: AtomicU64,
    calls: Mutex<BTreeMap<&'static str, Vec<u64>>>,
}

impl Server {
    /// Serves on a free port of the loopback interface.
    ///
    /// # Errors
    /// Errors of binding the port.
    pub async fn open(corpus: Vec<Response>) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let desk = Arc::new(Desk {
            opened: Instant::now(),
            corpus,
            connections: AtomicU64::new(0),
            calls: Mutex::default(),
        });
        let task = tokio::spawn(accept(listener, desk.clone()));
        Ok(Self { address, desk, task })
    }

    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where it has this mood.
    #[must_use]
    pub fn url(&self, mood: Mood) -> String {
        format!("http://{}/{}", self.address, mood.name)
    }

    /// The calls of this mood in each second since the start.
    #[must_use]
    pub fn calls(&self, mood: Mood) -> Vec<u64> {
        self.desk.calls().get(mood.name).cloned().unwrap_or_default()
    }

    #[must_use]
    pub fn connections(&self) -> u64 {
        self.desk.connections.load(Ordering::Relaxed)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, desk: Arc<Desk>) {
    // Dropping the set ends its tasks.
    let mut connections = tokio::task::JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        while connections.try_join_next().is_some() {}
        let desk = desk.clone();
        connections.spawn(async move {
            desk.connections.fetch_add(1, Ordering::Relaxed);
            // In most moods the client closes the connection.
            let _ = serve(stream, &desk).await;
            desk.connections.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

/// Whether the connection can carry another call.
type Goes = io::Result<bool>;

async fn serve(mut stream: TcpStream, desk: &Desk) -> io::Result<()> {
    stream.set_nodelay(true)?;
    while let Some(path) = request(&mut stream).await? {
        let goes = match path.as_str() {
            "/counts" => answer(&mut stream, "200", "", desk.counts().as_bytes()).await,
            path => match path.strip_prefix("/corpus/").map(|number| desk.response(number)) {
                Some(Some(response)) => response.send(&mut stream).await.map(|()| false),
                Some(None) => answer(&mut stream, "404", "", b"unknown response").await,
                None => match Mood::named(&path[1..]) {
                    Some(mood) => {
                        let turn = desk.count(mood);
                        act(&mut stream, mood, turn, desk.opened).await
                    }
                    None => answer(&mut stream, "404", "", b"unknown mood").await,
                },
            },
        };
        if !goes? {
            return Ok(());
        }
    }
    Ok(())
}

/// The path of the next request. `None` at the end of the connection.
async fn request(stream: &mut TcpStream) -> io::Result<Option<String>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() > LONGEST_HEAD || stream.read_buf(&mut head).await? == 0 {
            return Ok(None);
        }
    }
    let head = String::from_utf8_lossy(&head);
    let path = head.split(' ').nth(1).unwrap_or("/");
    Ok(Some(if path.starts_with('/') { path.to_owned() } else { "/".to_owned() }))
}

async fn answer(stream: &mut TcpStream, status: &str, headers: &str, body: &[u8]) -> Goes {
    let length = body.len();
    let head = format!("HTTP/1.1 {status} X\r\n{headers}Content-Length: {length}\r\n\r\n");
    stream.write_all(&[head.as_bytes(), body].concat()).await?;
    Ok(true)
}

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\n";
/// Before a body that clients may read, as it claims to be JSON. It begins with an endless number.
const CHUNKED: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";

async fn act(stream: &mut TcpStream, mood: Mood, turn: u64, opened: Instant) -> Goes {
    match mood.act {
        Act::Answer => {
            let answers = mood.answers();
            let (status, headers) = &answers[turn as usize % answers.len()];
            return answer(stream, status, headers, b"x").await;
        }
        Act::Flap(millis) => {
            let phase = opened.elapsed().as_millis() / u128::from(millis) % 2;
            return answer(stream, if phase == 0 { "200" } else { "429" }, "", b"x").await;
        }
        Act::Twice => {
            answer(stream, "200", "", b"x").await?;
            return answer(stream, "429", "Retry-After: 1000000\r\n", b"y").await;
        }
        Act::TrickleBody(millis) => endlessly(stream, CHUNKED, b"1\r\n7\r\n", millis).await?,
        Act::FloodBody => {
            let chunk = [b"10000\r\n", [b'7'; 0x10000].as_slice(), b"\r\n"].concat();
            endlessly(stream, CHUNKED, &chunk, 0).await?;
        }
        Act::TrickleHead(millis) => endlessly(stream, HEAD, b"X: y\r\n", millis).await?,
        Act::FloodHead => endlessly(stream, HEAD, &b"X: y\r\n".repeat(1000), 0).await?,
        Act::Informational => endlessly(stream, b"", b"HTTP/1.1 103 X\r\nA: b\r\n\r\n", 20).await?,
        Act::CutHead => stream.write_all(b"HTTP/1.1 200 OK\r\nRetry-Aft").await?,
        Act::CutBody => {
            let json = b"Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{\"a";
            stream.write_all(&[HEAD, json].concat()).await?;
        }
        // Unread data makes the system reset the connection.
        Act::Reset => stream.set_zero_linger()?,
        Act::Silence => {
            // Waits until the client closes its end.
            while stream.read(&mut [0; 64]).await? > 0 {}
        }
        Act::Noise => stream.write_all(&[0xFF, 0, b'\n', b'{', 0x80].repeat(50)).await?,
    }
    Ok(false)
}

/// Sends a start, then repeats the same until the client closes the connection.
async fn endlessly(
    stream: &mut TcpStream,
    begin: &[u8],
    more: &[u8],
    millis: u64,
) -> io::Result<()> {
    stream.write_all(begin).await?;
    loop {
        stream.write_all(more).await?;
        sleep(Duration::from_millis(millis)).await;
    }
}

impl Desk {
    fn calls(&self) -> MutexGuard<'_, BTreeMap<&'static str, Vec<u64>>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a call, and returns how many came before it.
    fn count(&self, mood: Mood) -> u64 {
        let second = self.opened.elapsed().as_secs() as usize;
        let mut calls = self.calls();
        let seconds = calls.entry(mood.name).or_default();
        let before = seconds.iter().sum();
        if seconds.len() <= second {
            seconds.resize(second + 1, 0);
        }
        seconds[second] += 1;
        before
    }

    fn response(&self, number: &str) -> Option<&Response> {
        self.corpus.get(number.parse::<usize>().ok()?)
    }

    /// The calls of each second by mood, and the number of open connections including this one.
    fn counts(&self) -> String {
        let connections = self.connections.load(Ordering::Relaxed);
        serde_json::json!({ "connections": connections, "calls": *self.calls() }).to_string()
    }
}
