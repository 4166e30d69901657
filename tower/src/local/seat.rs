//! The seat: the socket of the process that holds the budgets.
//!
//! Answers are sent only while the socket is at the seat's path. So a process that was frozen while
//! another took the seat grants nothing more, no matter when it notices.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use tokio::io::{AsyncWriteExt, BufReader};
use tokio::task::{AbortHandle, JoinSet};

use super::budgets::{Budgets, LocalBudget, Terms};
use super::error::{LocalError, Why};
use super::frames::{self, Frame, GRANT, GREETING, NO_REQUEST, POLICY, TROUBLE};
use super::lock;
use super::place::Number;
use super::standing::Told;
use super::system::{self, Listener, Stream};

/// See the module's documentation. Dropping it ends it.
pub(super) struct Seat {
    terms: Arc<Terms>,
    number: Number,
    budgets: Mutex<Budgets>,
    held: AtomicBool,
    /// The task that answers other processes.
    task: OnceLock<AbortHandle>,
}

impl Seat {
    /// Takes the seat from `found`, the inode of a socket whose process does not answer, or `None`
    /// if there is no socket. `None` if another process was faster.
    pub(super) fn take(terms: &Arc<Terms>, found: Number) -> io::Result<Option<Arc<Self>>> {
        let Some((listener, number)) = terms.place.take(found)? else { return Ok(None) };
        let seat = Arc::new(Self {
            terms: terms.clone(),
            number,
            budgets: Mutex::new(Budgets::new(terms.clone(), found.is_none())),
            held: AtomicBool::new(true),
            task: OnceLock::new(),
        });
        lock(&terms.standing).hold();
        let task = tokio::spawn(welcome(Host(Arc::downgrade(&seat)), listener, terms.clone()));
        let _ = seat.task.set(task.abort_handle());
        Ok(Some(seat))
    }

    pub(super) fn is_held(&self) -> bool {
        let held = self.held.load(Ordering::SeqCst);
        if held && self.terms.place.look() != self.number {
            lock(&self.terms.standing).lost();
            self.end();
            return false;
        }
        held
    }

    /// Answers a request. Empty if there is nothing to send. `None` if the seat is lost.
    pub(super) fn answer(&self, key: &[u8], request: &[u8]) -> Result<Option<Vec<u8>>, LocalError> {
        // Otherwise the record would replace that of the next holder.
        if !self.is_held() {
            return Ok(None);
        }
        let (grant, unstored) = lock(&self.budgets).answer(key, request)?;
        unstored.inspect(|trouble| self.terms.place.report(trouble));
        Ok(self.is_held().then_some(grant))
    }

    /// The policy has changed. Processes that are connected hear of it when they connect again.
    pub(super) fn set_policy(&self) {
        lock(&self.budgets).set_policy();
    }

    pub(super) fn stats(&self, key: &[u8]) -> Option<LocalBudget> {
        lock(&self.budgets).stats(key)
    }

    /// Frees the seat. The next process that sends a request takes it.
    pub(super) fn leave(&self) {
        // Without a file, the next holder must assume unknown grants. The socket that stays behind
        // tells it so.
        if self.held.load(Ordering::SeqCst) && lock(&self.budgets).is_kept() {
            self.terms.place.leave(self.number);
        }
        self.end();
    }

    /// Frees the seat if another policy replaces its own.
    fn meet(&self, other: &Told) {
        if self.is_held()
            && let Err(why) = { lock(&self.terms.standing).meet(other) }
        {
            self.terms.place.report(&why);
            self.leave();
        }
    }

    fn end(&self) {
        self.held.store(false, Ordering::SeqCst);
        self.task.get().into_iter().for_each(AbortHandle::abort);
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.end();
    }
}

/// The task that accepts members. When it ends, also with its runtime, no further member can connect, so the next
/// process that sends a request takes the seat.
struct Host(Weak<Seat>);

impl Drop for Host {
    fn drop(&mut self) {
        if let Some(seat) = self.0.upgrade() {
            seat.leave();
        }
    }
}

async fn welcome(host: Host, mut listener: Listener, terms: Arc<Terms>) {
    let mut members = JoinSet::new();
    while let Ok(member) = system::accept(&mut listener, &terms.place.path).await {
        while members.try_join_next().is_some() {}
        members.spawn(serve(host.0.clone(), member));
    }
}

/// Answers one member until it disconnects or sends an invalid message. The greeting has already
/// stated the protocol of this process.
async fn serve(seat: Weak<Seat>, member: Stream) -> Result<(), Why> {
    let mut asked = Asked { seat: seat.clone(), requests: HashMap::new() };
    let seat = || seat.upgrade().ok_or(Why::Ended);
    let told = lock(&seat()?.terms.standing).hold();
    let policy = frames::answer(NO_REQUEST, POLICY, &frames::policy(&told));
    let mut member = BufReader::new(member);
    member.write_all(&[&GREETING[..], &policy].concat()).await?;
    frames::greeted(&mut member).await?;
    let mut answers = Vec::new();
    loop {
        if member.buffer().is_empty() {
            member.write_all(&answers).await?;
            answers.clear();
        }
        let Frame { id, key, body, .. } = frames::read(&mut member, true).await?;
        let seat = seat()?;
        if id == NO_REQUEST {
            frames::told(&body).iter().for_each(|other| seat.meet(other));
            continue;
        }
        answers.extend(match seat.answer(&key, &body) {
            Ok(Some(grant)) => {
                if frames::leaves(&body) {
                    asked.requests.remove(&key);
                } else {
                    asked.requests.insert(key, body);
                }
                frames::answer(id, GRANT, &grant)
            }
            Ok(None) => return Err(Why::Ended),
            Err(error) => frames::answer(id, TROUBLE, error.to_string().as_bytes()),
        });
    }
}

/// The latest request of a member for each key that it has not left. When its connection ends, so has the member.
struct Asked {
    seat: Weak<Seat>,
    requests: HashMap<Vec<u8>, Vec<u8>>,
}

impl Drop for Asked {
    fn drop(&mut self) {
        let Some(seat) = self.seat.upgrade() else { return };
        let mut budgets = lock(&seat.budgets);
        self.requests.iter().for_each(|(key, request)| budgets.ended(key, request));
    }
}
