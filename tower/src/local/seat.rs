//! The seat: the socket of the process that holds the budgets.
//!
//! Answers are sent only while the socket is at the seat's path. So a process that was frozen while
//! another took the seat grants nothing more, no matter when it notices.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::mem::take;
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use tokio::io::{AsyncWriteExt, BufReader};
use tokio::task::JoinSet;

use super::budget::{Budget, LocalBudget};
use super::frames::{self, Frame, GRANT, GREETING, NO_REQUEST, POLICY, TROUBLE, Why};
use super::place::{Number, Place};
use super::standing::Told;
use super::system::{self, Listener, Stream};
use super::{LocalError, lock};

/// A budget is unloaded after this time without a request: `REST` if all members have left and no call is in flight. Its
/// file contains everything. As in Node.
const IDLE: Duration = Duration::from_secs(60);
const REST: Duration = Duration::from_secs(1);

/// The most budgets that a process holds, as in Node.
const MOST: usize = 256;

/// See the module's documentation. Dropping it ends it.
pub(super) struct Seat {
    place: Arc<Place>,
    number: Number,
    /// When this process took it, if there was a holder before. That one may have leased calls until then.
    after: Option<Instant>,
    budgets: Mutex<HashMap<Box<[u8]>, Budget>>,
    /// The task that answers other processes. None once the seat is left or lost.
    task: Mutex<JoinSet<()>>,
}

impl Seat {
    /// Takes the seat from `found`, the inode of a socket whose process does not answer, or `None`
    /// if there is no socket. `is_first`: whether there was no holder before. `None` if another process was faster.
    pub(super) fn take(
        place: &Arc<Place>,
        found: Number,
        is_first: bool,
    ) -> io::Result<Option<Arc<Self>>> {
        let taken = system::take(&place.path, || place.look() == found)?;
        let Some((listener, number)) = taken else { return Ok(None) };
        let seat = Arc::new(Self {
            place: place.clone(),
            number,
            after: (!is_first).then(Instant::now),
            budgets: Mutex::default(),
            task: Mutex::default(),
        });
        lock(&place.standing).hold();
        let host = Host(Arc::downgrade(&seat));
        lock(&seat.task).spawn(welcome(host, listener, place.clone()));
        Ok(Some(seat))
    }

    pub(super) fn is_held(&self) -> bool {
        if self.has_ended() {
            return false;
        }
        let is_there = self.place.look() == self.number;
        if !is_there {
            lock(&self.place.standing).lost();
            self.end();
        }
        is_there
    }

    /// Answers a request. Empty if there is nothing to send. `None` if the seat is lost.
    pub(super) fn answer(&self, key: &[u8], request: &[u8]) -> Result<Option<Vec<u8>>, LocalError> {
        // Otherwise the record would replace that of the next holder.
        if !self.is_held() {
            return Ok(None);
        }
        let (grant, unstored) = {
            let mut budgets = lock(&self.budgets);
            let budget = self.budget(&mut budgets, key)?;
            (budget.answer(request)?, budget.unstored.clone())
        };
        if let Some(error) = unstored {
            let folder = self.place.folder.display();
            let what = format!("a record in {folder} cannot be written: {error}");
            self.place.report(&LocalError::new(what));
        }
        Ok(self.is_held().then_some(grant))
    }

    fn budget<'a>(
        &self,
        budgets: &'a mut HashMap<Box<[u8]>, Budget>,
        key: &[u8],
    ) -> Result<&'a mut Budget, LocalError> {
        if !budgets.contains_key(key) {
            let idle = IDLE.max(self.place.share.heartbeat.saturating_mul(4));
            budgets.retain(|_, budget| {
                let limit = if budget.rests() { REST } else { idle };
                budget.was_asked_in(limit) || budget.unstored.is_some()
            });
            if budgets.len() >= MOST {
                return Err(LocalError::new(format!(
                    "a process holds at most {MOST} budgets: use fewer keys, or another name for some"
                )));
            }
        }
        let open = || Budget::open(&self.place, key, self.after.map(|at| at.elapsed()));
        Ok(budgets.entry(key.into()).or_insert_with(open))
    }

    /// The policy has changed. Processes that are connected hear of it when they connect again.
    pub(super) fn set_policy(&self) {
        let mut budgets = lock(&self.budgets);
        let policy = lock(&self.place.standing).policy;
        budgets.values_mut().for_each(|budget| budget.set_policy(policy));
    }

    pub(super) fn stats(&self, key: &[u8]) -> Option<LocalBudget> {
        lock(&self.budgets).get(key).map(Budget::stats)
    }

    /// Frees the seat. The next process that sends a request takes it.
    pub(super) fn leave(&self) {
        // Without a file, the next holder must assume unknown grants. The socket that stays behind
        // tells it so.
        let is_kept = || lock(&self.budgets).values().all(|budget| budget.unstored.is_none());
        let is_there = || self.number.is_some() && self.place.look() == self.number;
        if !self.has_ended() && is_kept() && is_there() {
            let _ = fs::remove_file(&self.place.path);
        }
        self.end();
    }

    /// Frees the seat if another policy replaces its own.
    fn meet(&self, other: &Told) {
        if self.is_held()
            && let Err(why) = { lock(&self.place.standing).meet(other) }
        {
            self.place.report(&why);
            self.leave();
        }
    }

    fn has_ended(&self) -> bool {
        lock(&self.task).is_empty()
    }

    fn end(&self) {
        let task = take(&mut *lock(&self.task));
        drop(task); // without the lock, which its end may take
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

async fn welcome(host: Host, mut listener: Listener, place: Arc<Place>) {
    let mut members = JoinSet::new();
    while let Ok(member) = system::accept(&mut listener, &place.path).await {
        while members.try_join_next().is_some() {}
        members.spawn(serve(host.0.clone(), member));
    }
}

/// Answers one member until its connection ends. Then it has left.
async fn serve(seat: Weak<Seat>, member: Stream) {
    let mut asked = HashMap::new();
    let _ = answer(&seat, member, &mut asked).await;
    let Some(seat) = seat.upgrade() else { return };
    let mut budgets = lock(&seat.budgets);
    for (key, request) in &asked {
        if let Some(budget) = budgets.get_mut(&**key) {
            budget.ended(request);
        }
    }
}

/// Answers one member until it disconnects or sends an invalid message. `asked` has its latest request for each key that
/// it has not left. The greeting has already stated the protocol of this process.
async fn answer(
    seat: &Weak<Seat>,
    member: Stream,
    asked: &mut HashMap<Vec<u8>, Vec<u8>>,
) -> Result<(), Why> {
    let seat = || seat.upgrade().ok_or(Why::Ended);
    let told = lock(&seat()?.place.standing).hold();
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
                    asked.remove(&key);
                } else {
                    asked.insert(key, body);
                }
                frames::answer(id, GRANT, &grant)
            }
            Ok(None) => return Err(Why::Ended),
            Err(error) => frames::answer(id, TROUBLE, error.to_string().as_bytes()),
        });
    }
}
