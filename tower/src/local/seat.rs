//! The seat: the socket of the process that holds the budgets.
//!
//! Answers are sent only while the socket is at the seat's path. So a process that was frozen while
//! another took the seat grants nothing more, no matter when it notices.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tidegate::Policy;
use tidegate::law::AnyLaw;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::{AbortHandle, JoinSet};

use super::LocalError;
use super::budgets::{Budgets, LocalBudget, Terms};
use super::frames::{self, Frame, Frames, GRANT, GREETING, NO_REQUEST, POLICY, TROUBLE};
use super::place::{Number, Place};
use super::standing::Told;
use super::system::{self, Listener, Stream};

/// Says why this process leaves the seat to one with another policy, if it does.
type Yields = Box<dyn Fn(&Told) -> Option<LocalError> + Send + Sync>;

/// See the module's documentation. Dropping it ends it.
pub(super) struct Seat {
    place: Arc<Place>,
    number: Number,
    told: Mutex<Told>,
    budgets: Mutex<Budgets>,
    yields: Yields,
    held: AtomicBool,
    /// Whether this process has freed it, and not lost it.
    left: AtomicBool,
    /// The task that answers other processes.
    task: Mutex<Option<AbortHandle>>,
}

impl Seat {
    /// Takes the seat from `found`, the inode of a socket whose process does not answer, or `None`
    /// if there is no socket. `None` if another process was faster.
    pub(super) fn take(
        terms: Terms,
        told: Told,
        found: Number,
        yields: impl Fn(&Told) -> Option<LocalError> + Send + Sync + 'static,
    ) -> io::Result<Option<Arc<Self>>> {
        let Some((listener, number)) = terms.place.take(found)? else { return Ok(None) };
        let place = terms.place.clone();
        let seat = Arc::new(Self {
            place: place.clone(),
            number,
            told: Mutex::new(told),
            budgets: Mutex::new(Budgets::new(terms, found.is_none())),
            yields: Box::new(yields),
            held: AtomicBool::new(true),
            left: AtomicBool::new(false),
            task: Mutex::new(None),
        });
        let task = tokio::spawn(welcome(Host(Arc::downgrade(&seat)), listener, place));
        *lock(&seat.task) = Some(task.abort_handle());
        Ok(Some(seat))
    }

    /// Whether this process still has it.
    pub(super) fn is_held(&self) -> bool {
        let held = self.held.load(Ordering::SeqCst);
        if held && self.place.look() != self.number {
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
        unstored.inspect(|trouble| self.place.report(trouble));
        Ok(self.is_held().then_some(grant))
    }

    /// Changes the policy. Processes that are connected hear of it when they connect again.
    pub(super) fn set_policy(&self, policy: Policy<AnyLaw>, told: Told) {
        lock(&self.budgets).set_policy(policy);
        *lock(&self.told) = told;
    }

    /// The policy as other processes are told.
    pub(super) fn told(&self) -> Told {
        lock(&self.told).clone()
    }

    pub(super) fn stats(&self, key: &[u8]) -> Option<LocalBudget> {
        lock(&self.budgets).stats(key)
    }

    /// Frees the seat. The next process that sends a request takes it.
    pub(super) fn leave(&self) {
        // Without a file, the next holder must assume unknown grants. The socket that stays behind
        // tells it so.
        if self.held.load(Ordering::SeqCst) {
            self.left.store(true, Ordering::SeqCst);
            if lock(&self.budgets).is_kept() {
                self.place.leave(self.number);
            }
        }
        self.end();
    }

    pub(super) fn has_left(&self) -> bool {
        self.left.load(Ordering::SeqCst)
    }

    /// Frees the seat if another policy replaces its own.
    fn meet(&self, other: &Told) {
        if self.is_held()
            && let Some(why) = (self.yields)(other)
        {
            self.place.report(&why);
            self.leave();
        }
    }

    fn end(&self) {
        self.held.store(false, Ordering::SeqCst);
        let task = lock(&self.task).take();
        task.iter().for_each(AbortHandle::abort);
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

/// Accepts members until the seat is dropped.
async fn welcome(host: Host, mut listener: Listener, place: Arc<Place>) {
    let mut members = JoinSet::new();
    while let Ok(member) = system::accept(&mut listener, &place.path).await {
        while members.try_join_next().is_some() {}
        members.spawn(serve(host.0.clone(), member));
    }
}

/// Answers one member until it disconnects or sends an invalid message. The greeting has already
/// stated the protocol of this process.
async fn serve(seat: Weak<Seat>, mut member: Stream) {
    let mut asked = Asked { seat: seat.clone(), requests: HashMap::new() };
    let (mut frames, mut room) = (Frames::new(true), vec![0; 8_192]);
    let Some(told) = seat.upgrade().map(|seat| seat.told()) else { return };
    let policy = frames::answer(NO_REQUEST, POLICY, &frames::policy(&told));
    let mut greeting = [&GREETING[..], &policy].concat();
    loop {
        if member.write_all(&greeting).await.is_err() {
            return;
        }
        greeting.clear();
        let Ok(length @ 1..) = member.read(&mut room).await else { return };
        let Ok(requests) = frames.read(&room[..length]) else { return };
        let mut answers = Vec::new();
        for Frame { id, key, body, .. } in requests {
            let Some(seat) = seat.upgrade() else { return };
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
                Ok(None) => return,
                Err(error) => frames::answer(id, TROUBLE, error.to_string().as_bytes()),
            });
        }
        if !answers.is_empty() && member.write_all(&answers).await.is_err() {
            return;
        }
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
