//! A connection to the process that holds the budgets.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWriteExt, BufReader, WriteHalf};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use super::error::{LocalError, Why};
use super::frames::{self, GREETING, NO_REQUEST, TROUBLE};
use super::lock;
use super::place::Number;
use super::standing::Told;
use super::system::Stream;

/// A process that does not answer for this long counts as frozen, unless this one was busy itself: its timer was later
/// than the second value.
const PATIENCE: Duration = Duration::from_millis(400);
const LATE: Duration = Duration::from_millis(20);

type Answer = Result<Vec<u8>, Why>;

/// See the module's documentation. Dropping it closes the connection.
pub(super) struct Line {
    /// The inode of the socket to which this is connected.
    pub(super) to: Number,
    /// The policy of that process.
    pub(super) policy: Told,
    state: Arc<Mutex<State>>,
    out: mpsc::UnboundedSender<Vec<u8>>,
    _tasks: JoinSet<()>,
}

#[derive(Default)]
struct State {
    count: u32,
    asked: HashMap<u32, oneshot::Sender<Answer>>,
    /// Why it has ended.
    why: Option<Why>,
}

impl Line {
    /// Waits until that process has greeted and told its policy.
    pub(super) async fn open(stream: Stream, to: Number) -> Result<Self, Why> {
        let (read, write) = tokio::io::split(stream);
        let (out, mail) = mpsc::unbounded_channel();
        let (mut read, mut tasks) = (BufReader::new(read), JoinSet::new());
        tasks.spawn(tell(mail, write));
        let _ = out.send(GREETING.to_vec());
        let greeted = async {
            frames::greeted(&mut read).await?;
            frames::read(&mut read, false).await
        };
        let policy = frames::told(&in_time(greeted).await.unwrap_or(Err(Why::Silent))?.body);
        let policy = policy.ok_or_else(|| LocalError::new(frames::STRANGER))?;
        let state = Arc::new(Mutex::new(State::default()));
        tasks.spawn(hear(Ear(state.clone()), read));
        Ok(Self { to, policy, state, out, _tasks: tasks })
    }

    pub(super) fn is_open(&self) -> bool {
        lock(&self.state).why.is_none()
    }

    /// Asks that process to leave the seat to one with this policy. If it does, it ends the connection.
    pub(super) fn replace(&self, by: &Told) {
        let _ =
            frames::request(NO_REQUEST, "", &frames::policy(by)).map(|bytes| self.out.send(bytes));
    }

    /// Sends a request for a key and returns the grant.
    pub(super) async fn ask(&self, key: &str, request: &[u8]) -> Answer {
        let (done, answer) = oneshot::channel();
        {
            let mut state = lock(&self.state);
            if let Some(why) = &state.why {
                return Err(why.clone());
            }
            let id = state.count.wrapping_add(1).max(1);
            state.count = id;
            let bytes = frames::request(id, key, request)?;
            // Requests whose callers no longer wait.
            state.asked.retain(|_, done| !done.is_closed());
            state.asked.insert(id, done);
            let _ = self.out.send(bytes);
        }
        match in_time(answer).await {
            Some(Ok(answer)) => answer,
            Some(Err(_)) => Err(lock(&self.state).why.clone().unwrap_or(Why::Ended)),
            None => {
                lock(&self.state).end(Why::Silent);
                Err(Why::Silent)
            }
        }
    }
}

impl State {
    /// Ends the connection, and the requests without an answer.
    fn end(&mut self, why: Why) {
        self.why.get_or_insert(why);
        self.asked.clear();
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

/// The task that reads answers. When it ends, also with its runtime, the connection does.
struct Ear(Arc<Mutex<State>>);

impl Drop for Ear {
    fn drop(&mut self) {
        lock(&self.0).end(Why::Ended);
    }
}

/// Reads answers until the connection ends.
async fn hear(ear: Ear, mut from: impl AsyncRead + Unpin) {
    loop {
        let answer = match frames::read(&mut from, false).await {
            Ok(answer) => answer,
            Err(why) => return lock(&ear.0).end(why),
        };
        let Some(done) = lock(&ear.0).asked.remove(&answer.id) else { continue };
        let _ = done.send(match answer.kind {
            TROUBLE => {
                let why = String::from_utf8_lossy(&answer.body);
                let what = format!("the process that holds the budget says: {why}");
                Err(Why::Trouble(LocalError::new(what)))
            }
            _ => Ok(answer.body),
        });
    }
}

/// Writes the greeting and requests. If that fails, reading fails too.
async fn tell(mut mail: mpsc::UnboundedReceiver<Vec<u8>>, mut to: WriteHalf<Stream>) {
    while let Some(bytes) = mail.recv().await {
        if to.write_all(&bytes).await.is_err() {
            return;
        }
    }
}
