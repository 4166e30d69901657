//! A connection to the process that holds the budgets.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;

use super::LocalError;
use super::frames::{self, Frames, GREETING, NO_REQUEST, POLICY, TROUBLE};
use super::place::{Number, Place};
use super::standing::Told;
use super::system::Stream;

/// A process that does not answer for this long counts as frozen, unless this one was busy itself: its timer was later
/// than the second value.
const PATIENCE: Duration = Duration::from_millis(400);
const LATE: Duration = Duration::from_millis(20);

/// Why a connection ended before the answer.
#[derive(Clone, Debug)]
pub(super) enum Why {
    /// The process has ended.
    Ended,
    /// The process is alive and does not answer.
    Silent,
    /// It uses another protocol, or reported an error.
    Trouble(LocalError),
}

type Answer = Result<Vec<u8>, Why>;

/// See the module's documentation. Dropping it closes the connection.
pub(super) struct Line {
    /// The inode of the socket to which this is connected.
    pub(super) to: Number,
    state: Arc<Mutex<State>>,
    out: mpsc::UnboundedSender<Vec<u8>>,
    tasks: [AbortHandle; 2],
}

#[derive(Default)]
struct State {
    /// Whether the other process speaks this protocol, and who waits to know.
    is_greeted: bool,
    checks: Vec<oneshot::Sender<Answer>>,
    /// The policy of that process.
    policy: Option<Told>,
    count: u32,
    asked: HashMap<u32, oneshot::Sender<Answer>>,
    /// Why it has ended.
    why: Option<Why>,
}

impl Line {
    pub(super) async fn open(place: &Place, to: Number) -> io::Result<Self> {
        let (read, write) = tokio::io::split(place.connect().await?);
        let (out, mail) = mpsc::unbounded_channel();
        let state = Arc::new(Mutex::new(State::default()));
        let tasks = [tokio::spawn(hear(Ear(state.clone()), read)), tokio::spawn(tell(mail, write))];
        Ok(Self { to, state, out, tasks: tasks.map(|task| task.abort_handle()) })
    }

    pub(super) fn is_open(&self) -> bool {
        lock(&self.state).why.is_none()
    }

    /// The policy of that process, if it is known.
    pub(super) fn policy(&self) -> Option<Told> {
        lock(&self.state).policy.clone()
    }

    /// Asks that process to leave the seat to one with this policy. If it does, it ends the connection.
    pub(super) fn replace(&self, by: &Told) {
        let _ =
            frames::request(NO_REQUEST, "", &frames::policy(by)).map(|bytes| self.out.send(bytes));
    }

    /// Sends a request for a key and returns the grant. Without one, it waits for the greeting.
    pub(super) async fn ask(&self, request: Option<(&str, &[u8])>) -> Answer {
        let (done, mut answer) = oneshot::channel();
        {
            let mut state = lock(&self.state);
            if let Some(why) = &state.why {
                return Err(why.clone());
            }
            if request.is_none() && state.is_greeted {
                return Ok(Vec::new());
            }
            if let Some((key, request)) = request {
                state.count = state.count.wrapping_add(1).max(1);
                let id = state.count;
                let bytes = frames::request(id, key, request).map_err(Why::Trouble)?;
                // Requests whose callers no longer wait.
                state.asked.retain(|_, done| !done.is_closed());
                state.asked.insert(id, done);
                let _ = self.out.send(bytes);
            } else {
                state.checks.push(done);
            }
        }
        for again in [false, true] {
            let asked = Instant::now();
            if let Ok(answer) = tokio::time::timeout(PATIENCE, &mut answer).await {
                return answer.unwrap_or(Err(Why::Ended));
            }
            if again || asked.elapsed() <= PATIENCE + LATE {
                break;
            }
        }
        lock(&self.state).end(Why::Silent);
        Err(Why::Silent)
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.tasks.iter().for_each(AbortHandle::abort);
    }
}

impl State {
    /// Ends the connection. Open requests fail with `why`.
    fn end(&mut self, why: Why) {
        if self.why.is_none() {
            let asked = self.asked.drain().map(|(_, done)| done);
            for done in asked.chain(self.checks.drain(..)) {
                let _ = done.send(Err(why.clone()));
            }
            self.why = Some(why);
        }
    }
}

/// The task that reads answers. When it ends, also with its runtime, the connection does.
struct Ear(Arc<Mutex<State>>);

impl Drop for Ear {
    fn drop(&mut self) {
        lock(&self.0).end(Why::Ended);
    }
}

/// Reads answers until the connection ends.
async fn hear(ear: Ear, mut from: ReadHalf<Stream>) {
    let state = &ear.0;
    let (mut frames, mut room) = (Frames::new(false), vec![0; 8_192]);
    loop {
        let Ok(length @ 1..) = from.read(&mut room).await else { return };
        let read = frames.read(&room[..length]);
        let mut state = lock(state);
        let answers = match read {
            Ok(answers) => answers,
            Err(error) => return state.end(Why::Trouble(error)),
        };
        state.is_greeted = frames.is_greeted();
        if state.is_greeted {
            for done in state.checks.drain(..) {
                let _ = done.send(Ok(Vec::new()));
            }
        }
        for answer in answers {
            if answer.kind == POLICY {
                state.policy = frames::told(&answer.body);
            }
            let Some(done) = state.asked.remove(&answer.id) else { continue };
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
}

/// Writes requests. If that fails, reading fails too.
async fn tell(mut mail: mpsc::UnboundedReceiver<Vec<u8>>, mut to: WriteHalf<Stream>) {
    if to.write_all(&GREETING).await.is_err() {
        return;
    }
    while let Some(bytes) = mail.recv().await {
        if to.write_all(&bytes).await.is_err() {
            return;
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
