//! A connection to the process that holds the budgets.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncWriteExt, BufReader};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use super::LocalError;
use super::frames::{self, GREETING, NO_REQUEST, TROUBLE, Why};
use super::place::Number;
use super::standing::Told;
use super::system::Stream;

/// A process that does not answer for this long counts as frozen, unless this one was busy itself: its timer was later
/// than the second value.
const PATIENCE: Duration = Duration::from_millis(400);
const LATE: Duration = Duration::from_millis(20);

/// How many requests are sent at once.
const MOST: usize = 64;

type Answer = Result<Vec<u8>, Why>;

/// A request: its number, its frame, and who waits for the answer.
type Request = (u32, Vec<u8>, oneshot::Sender<Answer>);

/// See the module's documentation. Dropping it closes the connection.
pub(super) struct Line {
    /// The inode of the socket to which this is connected.
    pub(super) to: Number,
    /// The policy of that process.
    pub(super) policy: Told,
    count: AtomicU32,
    out: mpsc::UnboundedSender<Request>,
    /// When it ends, also with its runtime, the connection does.
    _task: JoinSet<()>,
}

impl Line {
    /// Waits until that process has greeted and told its policy.
    pub(super) async fn open(stream: Stream, to: Number) -> Result<Self, Why> {
        let mut stream = BufReader::new(stream);
        let greeted = async {
            stream.write_all(&GREETING).await?;
            frames::greeted(&mut stream).await?;
            frames::read(&mut stream, false).await
        };
        let policy = frames::told(&in_time(greeted).await.unwrap_or(Err(Why::Silent))?.body);
        let policy = policy.ok_or_else(|| LocalError::new(frames::STRANGER))?;
        let ((out, requests), mut task) = (mpsc::unbounded_channel(), JoinSet::new());
        task.spawn(talk(stream, requests));
        Ok(Self { to, policy, count: AtomicU32::new(0), out, _task: task })
    }

    pub(super) fn is_open(&self) -> bool {
        !self.out.is_closed()
    }

    /// Asks that process to leave the seat to one with this policy. If it does, it ends the connection.
    pub(super) fn replace(&self, by: &Told) {
        let (done, _) = oneshot::channel();
        let _ = frames::request(NO_REQUEST, "", &frames::policy(by))
            .map(|bytes| self.out.send((NO_REQUEST, bytes, done)));
    }

    /// Sends a request for a key and returns the grant.
    pub(super) async fn ask(&self, key: &str, request: &[u8]) -> Answer {
        let (done, answer) = oneshot::channel();
        let id = self.count.fetch_add(1, Ordering::Relaxed).wrapping_add(1).max(1);
        let _ = self.out.send((id, frames::request(id, key, request)?, done));
        match in_time(answer).await {
            Some(answer) => answer.unwrap_or(Err(Why::Ended)),
            None => Err(Why::Silent),
        }
    }
}

/// `None` if the process does not answer in time.
async fn in_time<F: Future>(answer: F) -> Option<F::Output> {
    let mut answer = pin!(answer);
    for _ in 0..2 {
        let asked = Instant::now();
        if let Ok(answer) = tokio::time::timeout(PATIENCE, &mut answer).await {
            return Some(answer);
        }
        if asked.elapsed() <= PATIENCE + LATE {
            break;
        }
    }
    None
}

/// Sends requests and reads their answers until the connection ends.
async fn talk(mut stream: BufReader<Stream>, mut requests: mpsc::UnboundedReceiver<Request>) {
    let (mut next, mut asked) = (Vec::with_capacity(MOST), HashMap::new());
    while requests.recv_many(&mut next, MOST).await > 0 {
        let exchange = async {
            for (id, bytes, done) in next.drain(..) {
                stream.write_all(&bytes).await?;
                if id != NO_REQUEST {
                    asked.insert(id, done);
                }
            }
            while !asked.is_empty() {
                let answer = frames::read(&mut stream, false).await?;
                let Some(done) = asked.remove(&answer.id) else { continue };
                let _ = done.send(match answer.kind {
                    TROUBLE => {
                        let why = String::from_utf8_lossy(&answer.body);
                        let what = format!("the process that holds the budget says: {why}");
                        Err(Why::Trouble(LocalError::new(what)))
                    }
                    _ => Ok(answer.body),
                });
            }
            Ok::<_, Why>(())
        };
        if let Err(why) = exchange.await {
            return asked.into_values().for_each(|done| drop(done.send(Err(why.clone()))));
        }
    }
}
