//! A call from its first attempt to its last.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Poll, ready};

use tidegate::{Instant, Outcome, Reason, Reply, Retry, call_time::FastestCall};

use crate::acquire::Acquire;
use crate::call::Call;
use crate::classify::Classify;
use crate::error::Error;
use crate::observe::{self, Attempt};
use crate::permit::Permit;
use crate::response::Hold;
use crate::timer::{Timer, Tokio};

/// The permit of a call that has its response. The call ends when this is dropped, for example at
/// the end of the response's body.
#[derive(Debug)]
#[must_use = "a guard that is dropped ends the call"]
pub struct Guard<const LIMITS: usize = 1, T: Timer = Tokio> {
    permit: Permit<LIMITS, T>,
    reply: Reply<LIMITS>,
}

impl<const LIMITS: usize, T: Timer> Guard<LIMITS, T> {
    /// Lets the gate learn from the response now, instead of when the call ends. The call keeps its
    /// place.
    pub fn learn(&mut self) {
        self.permit.learn(self.reply);
    }

    /// Corrects what the call is charged: see [`Permit::correct`].
    pub fn correct(&mut self, used: [Option<u32>; LIMITS]) {
        self.permit.correct(used);
    }

    /// Ends the call with another reply, if the outcome is known only now. Ignored if the gate has
    /// already learned from the response.
    pub fn settle(mut self, reply: impl Into<Reply<LIMITS>>) {
        self.reply = reply.into();
    }
}

impl<const LIMITS: usize, T: Timer> Drop for Guard<LIMITS, T> {
    fn drop(&mut self) {
        self.permit.end(&self.reply);
    }
}

/// The state of a call after its last result.
pub(crate) enum End<const LIMITS: usize, T: Timer> {
    Held(Guard<LIMITS, T>),
    Ended,
    /// The server did not serve it, and this is why it is not retried.
    GaveUp(Error),
}

impl<const LIMITS: usize, T: Timer> End<LIMITS, T> {
    pub(crate) fn hold<R: Hold<LIMITS, T>>(self, mut response: R) -> R::Held {
        match self {
            Self::Held(guard) => return response.hold(Some(guard)),
            Self::Ended => {}
            Self::GaveUp(why) => response.gave_up(why),
        }
        response.hold(None)
    }
}

/// Sends a request when it may be sent, and retries it. `finish` gets the last result rather than the reason for
/// stopping.
///
/// `repeat` copies a request before it is sent. A request without a copy is sent once. If `holds`, a permit ends when
/// the returned guard is dropped, else with the result.
///
/// An async block that uses its captures in place: the arguments of an async function, and each future around it, would
/// hold and move another copy of the request.
pub(crate) fn drive<Req, Fut, R, const LIMITS: usize, T: Timer>(
    call: Call<LIMITS, T>,
    mut request: Req,
    holds: bool,
    repeat: impl Fn(&mut Req) -> Option<Req>,
    classify: impl Classify<Fut::Output, LIMITS>,
    mut send: impl FnMut(Req) -> Fut,
    finish: impl FnOnce(Result<(Fut::Output, End<LIMITS, T>), Error>) -> R,
) -> impl Future<Output = R>
where
    Fut: Future,
{
    let (retry, deadline) = (call.call.retried_after(), call.call.not_after());
    let mut begin = Instant::ZERO;
    let mut unused = call.unused_permit();
    if deadline < Instant::MAX {
        begin = unused.last().settings.timer.now();
        unused.call = unused.call.deadline(unused.last().fastest().leave_by(begin, deadline));
    }
    let mut acquired = Acquire::new(unused);
    async move {
        let mut last = None;
        loop {
            let admitted =
                (&mut acquired).await.and_then(|permit| in_time(permit, begin, deadline));
            let mut permit = match (admitted, last) {
                (Ok(permit), _) => permit,
                (Err(error), Some(result)) => return finish(Ok((result, End::GaveUp(error)))),
                (Err(error), None) => return finish(Err(error)),
            };
            let copy = (retry != Retry::Never).then(|| repeat(&mut request)).flatten();
            let attempt = Attempt::new(permit.key(), permit.attempt());
            let sent = pin!(attempt.send(send(request)));
            let timer = &permit.last().settings.timer;
            let measures =
                deadline < Instant::MAX || permit.last().fastest() != FastestCall::default();
            let sent_at = measures.then(|| timer.now());
            let Some(result) = within(timer, deadline, sent).await else {
                let key = permit.key().into();
                attempt.outcome(Outcome::Failed);
                permit.settle(Outcome::Failed);
                return finish(Err(Error::TimedOut { key }));
            };
            let reply = classify.classify(&result);
            if let (Some(sent_at), Outcome::Ok) = (sent_at, reply.outcome) {
                permit.last().has_taken(timer.now() - sent_at);
            }
            attempt.outcome(reply.outcome);
            if reply.outcome == Outcome::Ok && holds {
                return finish(Ok((result, End::Held(Guard { permit, reply }))));
            }
            let end = if matches!(reply.outcome, Outcome::Ok | Outcome::Abandoned) {
                permit.settle(reply);
                End::Ended
            } else {
                let key = permit.layers[0].lane.key.clone();
                let is_invited = reply.hints.iter().any(|hint| hint.may_repeat);
                let is_cut = copy.is_none() && retry.covers(reply.outcome, is_invited);
                if is_cut {
                    permit.call = permit.call.retry(Retry::Never);
                }
                let no_more = Error::rejected(key.clone(), Reason::Attempts, Instant::ZERO);
                End::GaveUp(match (permit.retry(reply), copy) {
                    (Ok(again), Some(copy)) => {
                        (acquired, request, last) = (again, copy, Some(result));
                        continue;
                    }
                    (Err(error), _) if !is_cut || error != no_more => error,
                    _ => Error::NotRepeatable { key },
                })
            };
            if let End::GaveUp(error) = &end {
                observe::rejected(error);
            }
            return finish(Ok((result, end)));
        }
    }
}

/// The permit, unless the call had enough time when it was made, and has no longer, because it had to wait.
fn in_time<const LIMITS: usize, T: Timer>(
    permit: Permit<LIMITS, T>,
    begin: Instant,
    deadline: Instant,
) -> Result<Permit<LIMITS, T>, Error> {
    if deadline == Instant::MAX {
        return Ok(permit);
    }
    let lane = permit.last();
    let now = lane.settings.timer.now();
    if now < deadline && now <= lane.fastest().leave_by(begin, deadline) {
        return Ok(permit);
    }
    let error = Error::rejected(permit.key().into(), Reason::Late(begin), begin);
    observe::rejected(&error);
    permit.refund();
    Err(error)
}

/// The future's output. `None` if the deadline passes first.
async fn within<T: Timer, F: Future>(
    timer: &T,
    deadline: Instant,
    mut future: Pin<&mut F>,
) -> Option<F::Output> {
    if deadline == Instant::MAX {
        return Some(future.await);
    }
    if timer.now() >= deadline {
        return None; // it is not sent
    }
    let mut sleep = pin!(timer.sleep_until(deadline));
    poll_fn(|cx| {
        loop {
            // First: it may be ready since before the deadline, if its task woke late.
            if let Poll::Ready(output) = future.as_mut().poll(cx) {
                return Poll::Ready(Some(output));
            }
            ready!(sleep.as_mut().poll(cx));
            if timer.now() >= deadline {
                return Poll::Ready(None);
            }
            sleep.set(timer.sleep_until(deadline)); // it ended early
        }
    })
    .await
}
