//! Carries the requests of one process to the holder of the budgets. If there is none, this process
//! becomes the holder.

use std::fmt;
use std::sync::{Arc, Mutex};

use tidegate::Policy;
use tidegate::law::AnyLaw;

use super::frames::Why;
use super::line::Line;
use super::place::{Number, Place};
use super::seat::Seat;
use super::standing::Standing;
use super::{LocalError, frames, lock, system};

/// Attempts to find or take the seat while others do the same.
const TRIES: usize = 5;

/// The target of requests: this process's own seat, or a connection.
#[derive(Clone)]
pub(super) enum Way {
    Seat(Arc<Seat>),
    Line(Arc<Line>),
}

/// A grant, and why this process's policy does not apply, if it does not.
pub(super) type Answer = Result<(Vec<u8>, Option<LocalError>), LocalError>;

pub(crate) struct Post {
    pub(super) place: Arc<Place>,
    way: Mutex<Option<Way>>,
    /// Only one task searches at a time. Whether there was a holder: its files may have been deleted since.
    search: tokio::sync::Mutex<bool>,
}

impl Post {
    pub(super) fn new(place: Place) -> Self {
        Self { place: Arc::new(place), way: Mutex::default(), search: Default::default() }
    }

    /// Sets the policy of the budgets that this process holds, now or later: that of the first limit.
    pub(crate) fn set_policy<const LIMITS: usize>(&self, policy: Policy<AnyLaw, LIMITS>) {
        let Some(law) = policy.laws().first().copied() else { return };
        let (seat, place) = (self.seat(), &self.place);
        let next = Standing::new(policy.limits([law]), place.share.expiry, place.share.heartbeat);
        lock(&place.standing).set(next, seat.is_some());
        // Stored before: a seat that is taken meanwhile gets it from there.
        seat.iter().for_each(|seat| seat.set_policy());
    }

    /// Sends a request to the holder of the seat. If none answers, or its policy is replaced, this process takes the
    /// seat. Returns the grant, which is empty if there is none, and an error if the holder's policy applies instead.
    pub(super) async fn carry(&self, key: &str, request: &[u8]) -> Answer {
        let mut silent = None;
        for _ in 0..TRIES {
            match self.find(silent).await? {
                Way::Seat(seat) => {
                    if let Some(grant) = seat.answer(key.as_bytes(), request)? {
                        return Ok((grant, None));
                    }
                }
                Way::Line(line) => {
                    let (replaces, by) = {
                        let mut standing = lock(&self.place.standing);
                        let replaces = standing.meet(&line.policy);
                        let tells = replaces == Ok(true) && !frames::leaves(request);
                        (replaces, tells.then(|| standing.told()))
                    };
                    match line.ask(key, request, by).await {
                        Ok(grant) => return Ok((grant, replaces.err())),
                        Err(Why::Trouble(error)) => return Err(error),
                        Err(Why::Silent) => silent = line.to,
                        Err(Why::Ended) => {}
                    }
                }
            }
        }
        Err(LocalError::new("the process that holds the budget has ended, or does not answer"))
    }

    pub(super) fn close(&self) {
        let way = lock(&self.way).take();
        if let Some(Way::Seat(seat)) = way {
            seat.leave();
        }
    }

    /// The seat, if this process has it.
    pub(super) fn seat(&self) -> Option<Arc<Seat>> {
        match self.open()? {
            Way::Seat(seat) => Some(seat),
            Way::Line(_) => None,
        }
    }

    /// The present target, if it is usable.
    fn open(&self) -> Option<Way> {
        let way = lock(&self.way).clone();
        way.filter(|way| match way {
            Way::Seat(seat) => seat.is_held(),
            Way::Line(line) => line.is_open(),
        })
    }

    /// Finds the holder of the seat or takes the seat. `silent` is a holder that did not answer.
    pub(super) async fn find(&self, silent: Number) -> Result<Way, LocalError> {
        lock(&self.place.standing).ask();
        let mut had_holder = self.search.lock().await;
        for _ in 0..TRIES {
            if let Some(way) = self.open() {
                return Ok(way);
            }
            let found = self.look(silent, *had_holder).await?;
            *had_holder |= found.is_some();
            *lock(&self.way) = found;
        }
        self.open().ok_or_else(|| {
            let path = self.place.path.display();
            LocalError::new(format!("other processes keep taking the socket {path}"))
        })
    }

    /// `None` if another process was faster.
    async fn look(&self, silent: Number, had_holder: bool) -> Result<Option<Way>, LocalError> {
        let place = &self.place;
        system::own_folder(&place.folder).map_err(|error| {
            let folder = place.folder.display();
            LocalError::unusable(format_args!("the folder {folder} cannot be used"), &error)
        })?;
        let (path, found) = (place.path.display(), place.look());
        if found.is_none() || found != silent {
            match system::connect(&place.path).await {
                Ok(stream) => match Line::open(stream, found).await {
                    Ok(line) => return Ok(Some(Way::Line(Arc::new(line)))),
                    Err(Why::Trouble(error)) => return Err(error),
                    Err(Why::Ended) => return Ok(None),
                    Err(Why::Silent) => {}
                },
                Err(error) if system::is_nobody(&error) => {}
                Err(error) => {
                    let what = format_args!("no process answers at {path}");
                    return Err(LocalError::unusable(what, &error));
                }
            }
        }
        let is_first = found.is_none() && !had_holder;
        let taken = Seat::take(place, found, is_first).map_err(|error| {
            LocalError::unusable(format_args!("the socket {path} cannot be made"), &error)
        })?;
        Ok(taken.map(Way::Seat))
    }
}

impl fmt::Debug for Post {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Post").field(&self.place).finish()
    }
}

impl Drop for Post {
    fn drop(&mut self) {
        self.close();
    }
}
