//! A call that is about to be made within a shared budget.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::{LocalAcquire, LocalGate, Stage};
use crate::alarm::Alarm;
use crate::classify::{Classify, Standard};
use crate::error::Error;
use crate::timer::duration;

/// A call to be made: its key, deadline and priority. Made by [`LocalGate::key`].
///
/// ```no_run
/// use std::time::Duration;
/// use tidegate_tower::local::LocalGate;
/// use tidegate_tower::tidegate::Outcome;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let gate = LocalGate::adaptive()?;
/// let urgent = gate.key("api.example.com").with_priority(7).with_timeout(Duration::from_secs(30));
/// urgent.run(|| async { Outcome::Ok }).await?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
#[must_use = "a call that is not acquired or run is not made"]
pub struct LocalCall {
    gate: LocalGate,
    key: Arc<str>,
    priority: u8,
    deadline: Option<Instant>,
}

impl LocalCall {
    pub(super) fn new(gate: LocalGate, key: &str) -> Self {
        Self { gate, key: key.into(), priority: 0, deadline: None }
    }

    /// The priority in the queue of this process: 7 is first, 0 is the default.
    pub fn with_priority(self, priority: u8) -> Self {
        Self { priority, ..self }
    }

    /// How long the call may take in total, including waits and retries. A call that would wait longer is
    /// rejected as soon as that is known. [`run`](Self::run) also gives up an attempt in flight. A timeout of
    /// centuries is none.
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { deadline: Instant::now().checked_add(timeout), ..self }
    }

    /// By when the call must be over. See [`with_timeout`](Self::with_timeout).
    pub fn with_deadline(self, deadline: impl Into<Instant>) -> Self {
        Self { deadline: Some(deadline.into()), ..self }
    }

    /// How long the call would wait at least if it joined now, at the current rate of all members. Changes
    /// nothing. A call that finds no lease also waits for the answer to a request.
    ///
    /// # Errors
    /// [`Error::Rejected`] if it would be later than its deadline.
    pub fn peek(&self) -> Result<Duration, Error> {
        let Some(lane) = self.gate.inner.lanes().get(&self.key).cloned() else {
            return Ok(Duration::ZERO);
        };
        let wait = lane.peek(self.deadline, self.priority);
        wait.map(duration).map_err(|(reason, now)| Error::rejected(self.key.clone(), reason, now))
    }

    /// A permit when it is the call's turn: by priority, then first come, first served. The future may be
    /// dropped at any time. It resolves to [`Error`] if the queue is full or the deadline cannot be met.
    pub fn acquire(self) -> LocalAcquire {
        let Self { gate, key, priority, deadline } = self;
        LocalAcquire {
            gate,
            stage: Stage::New { key, priority, deadline },
            alarm: Alarm::default(),
        }
    }

    /// Makes the call when it may be sent, and retries it while the server throttles it. Returns the last result,
    /// which [`Standard`] reads.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire), and [`Error::TimedOut`] if an attempt was in flight at the deadline.
    pub async fn run<F, Fut>(self, mut send: F) -> Result<Fut::Output, Error>
    where
        F: FnMut() -> Fut,
        Fut: Future,
        Standard: Classify<Fut::Output>,
    {
        let (key, deadline) = (self.key.clone(), self.deadline);
        let mut permit = self.acquire().await?;
        loop {
            let result = match deadline {
                None => send().await,
                Some(deadline) => match timeout_at(deadline, send()).await {
                    Ok(result) => result,
                    Err(_) => return Err(Error::TimedOut { key }),
                },
            };
            let reply = Standard.classify(&result);
            if !reply.outcome.is_pushback() {
                permit.settle(reply);
                return Ok(result);
            }
            // The last result is more useful than the reason why there is no other.
            let Ok(again) = permit.retry(reply) else { return Ok(result) };
            match again.await {
                Ok(next) => permit = next,
                Err(_) => return Ok(result),
            }
        }
    }
}

impl fmt::Debug for LocalCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalCall")
            .field("key", &self.key)
            .field("priority", &self.priority)
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}
