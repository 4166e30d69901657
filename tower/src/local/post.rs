//! Carries the requests of one process to the holder of the budgets. If there is none, this process
//! becomes the holder.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tidegate::Policy;
use tidegate::law::AnyLaw;

use super::LocalError;
use super::budgets::{LocalBudget, Terms};
use super::frames;
use super::line::{Line, Why};
use super::place::Number;
use super::seat::Seat;
use super::standing::{Standing, Told};
use super::system;

/// Attempts to find or take the seat while others do the same.
const TRIES: usize = 5;

/// The target of requests: this process's own seat, or a connection.
#[derive(Clone)]
enum Way {
    Seat(Arc<Seat>),
    Line(Arc<Line>),
}

/// See the module's documentation.
pub(super) struct Post {
    terms: Terms,
    policy: Arc<Mutex<(Policy<AnyLaw>, Standing)>>,
    way: Mutex<Option<Way>>,
    /// Only one task searches at a time.
    search: tokio::sync::Mutex<()>,
}

impl Post {
    pub(super) fn new(terms: Terms) -> Self {
        let policy = Arc::new(Mutex::new((terms.policy, standing(&terms, &terms.policy))));
        Self { terms, policy, way: Mutex::new(None), search: tokio::sync::Mutex::new(()) }
    }

    /// The same with budgets of this policy, for another gate.
    pub(super) fn again(&self, policy: Policy<AnyLaw>) -> Self {
        Self::new(Terms { policy, ..self.terms.clone() })
    }

    pub(super) fn expiry(&self) -> Duration {
        self.terms.expiry
    }

    /// Sets the policy of the budgets that this process holds, now or later.
    pub(super) fn set_policy(&self, policy: Policy<AnyLaw>) {
        let mut next = standing(&self.terms, &policy);
        let mut present = self.policy();
        present.0 = policy;
        if !next.is_equal(&present.1) {
            next.ask();
            present.1 = next;
        }
        // Stored before: a seat that is taken meanwhile gets it from there.
        if let Some(Way::Seat(seat)) = self.open() {
            let told = present.1.claim(Some(&seat.told()));
            present.1.hold(&told);
            seat.set_policy(policy, told);
        }
    }

    /// Whether this process takes the seat of the holder, because its policy replaces the other one; or an error that
    /// the other one applies.
    fn meets(&self, line: &Line) -> Result<bool, LocalError> {
        line.policy().map_or(Ok(false), |told| self.policy().1.meet(&told))
    }

    /// Says that another process's policy applies, if it does.
    pub(super) fn is_replaced(&self) -> Option<LocalError> {
        let way = lock(&self.way).clone();
        let Some(Way::Line(line)) = way else { return None };
        self.meets(&line).err()
    }

    fn policy(&self) -> MutexGuard<'_, (Policy<AnyLaw>, Standing)> {
        lock(&self.policy)
    }

    /// Sends a request to the holder of the seat, or only looks for the holder. If none answers, this
    /// process takes the seat. Empty if there is no grant.
    pub(super) async fn carry(
        &self,
        request: Option<(&str, &[u8])>,
    ) -> Result<Vec<u8>, LocalError> {
        let mut silent = None;
        let leaves = request.is_some_and(|(_, request)| frames::leaves(request));
        self.policy().1.ask();
        for _ in 0..TRIES {
            let way = self.find(silent).await?;
            if let Way::Line(line) = &way
                && !leaves
                && matches!(self.meets(line), Ok(true))
            {
                line.replace(&self.policy().1.claim(None));
            }
            let why = match way {
                Way::Seat(seat) => match request {
                    None => return Ok(Vec::new()),
                    Some((key, request)) => match seat.answer(key.as_bytes(), request)? {
                        Some(grant) => return Ok(grant),
                        None => continue,
                    },
                },
                Way::Line(line) => match line.ask(request).await {
                    Ok(grant) => return Ok(grant),
                    Err(Why::Silent) => {
                        silent = line.to;
                        Why::Silent
                    }
                    Err(why) => why,
                },
            };
            if let Why::Trouble(error) = why {
                return Err(error);
            }
        }
        Err(LocalError::new("the process that holds the budget has ended, or does not answer"))
    }

    /// Reports a trouble.
    pub(super) fn report(&self, trouble: &LocalError) {
        self.terms.place.report(trouble);
    }

    /// The counters of a key's budget, if this process holds it.
    pub(super) fn budget(&self, key: &str) -> Option<LocalBudget> {
        match self.open() {
            Some(Way::Seat(seat)) => seat.stats(key.as_bytes()),
            _ => None,
        }
    }

    /// Closes the seat or the connection.
    pub(super) fn close(&self) {
        if let Some(Way::Seat(seat)) = self.set(None) {
            seat.leave();
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

    fn set(&self, way: Option<Way>) -> Option<Way> {
        std::mem::replace(&mut *lock(&self.way), way)
    }

    /// Finds the holder of the seat or takes the seat. `silent` is a holder that did not answer.
    async fn find(&self, silent: Number) -> Result<Way, LocalError> {
        if let Some(way) = self.open() {
            return Ok(way);
        }
        let _search = self.search.lock().await;
        if let Some(way) = self.open() {
            return Ok(way);
        }
        if let Some(Way::Seat(seat)) = self.set(None)
            && !seat.has_left()
        {
            self.policy().1.lost();
        }
        let way = self.look(silent).await?;
        self.set(Some(way.clone()));
        if let Way::Seat(seat) = &way {
            // It may have changed meanwhile.
            let mut policy = self.policy();
            let told = policy.1.claim(Some(&seat.told()));
            policy.1.hold(&told);
            seat.set_policy(policy.0, told);
        }
        Ok(way)
    }

    async fn look(&self, silent: Number) -> Result<Way, LocalError> {
        let place = &self.terms.place;
        place.open()?;
        let path = place.path.display();
        for _ in 0..TRIES {
            let found = place.look();
            if found.is_none() || found != silent {
                match Line::open(place, found).await {
                    Ok(line) => return Ok(Way::Line(Arc::new(line))),
                    Err(error) if system::is_nobody(&error) => {}
                    Err(error) => {
                        let what = format_args!("no process answers at {path}");
                        return Err(LocalError::unusable(what, &error));
                    }
                }
            }
            let (policy, told) = {
                let policy = self.policy();
                (policy.0, policy.1.claim(None))
            };
            let yields = self.policy.clone();
            let yields = move |other: &Told| lock(&yields).1.meet(other).err();
            match Seat::take(Terms { policy, ..self.terms.clone() }, told, found, yields) {
                Ok(Some(seat)) => return Ok(Way::Seat(seat)),
                Ok(None) => {}
                Err(error) => {
                    let what = format_args!("the socket {path} cannot be made");
                    return Err(LocalError::unusable(what, &error));
                }
            }
        }
        Err(LocalError::new(format!("other processes keep taking the socket {path}")))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn standing(terms: &Terms, policy: &Policy<AnyLaw>) -> Standing {
    Standing::new(policy, terms.expiry, terms.heartbeat)
}

impl fmt::Debug for Post {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Post").field(&self.terms).finish()
    }
}

impl Drop for Post {
    fn drop(&mut self) {
        self.close();
    }
}
