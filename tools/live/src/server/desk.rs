//! Decides, counts and responds to every call.

use super::cors;
use super::ledger::Ledger;
use super::limiter::{Answer, Limits};
use super::works::{Work, Works};
use super::{CALLER, Nanos, TOKENS, Timeline, Truth, WORK, nanos};
use crate::options::Api;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};
use tokio::time::sleep;

/// One lock, so that calls have one order.
pub struct Desk {
    api: Api,
    timeline: Timeline,
    books: Mutex<Books>,
}

pub struct Books {
    pub opened: Instant,
    pub limits: Limits,
    pub ledger: Ledger,
    works: Works,
    /// The number of calls so far. It spreads their round-trip times.
    turn: u64,
}

enum Decided {
    Out,
    Throttled,
    Served,
}

/// A decided call, and the response to its caller.
struct Call {
    decided: Decided,
    told: HeaderMap,
    arrived: Nanos,
    turn: u64,
}

/// The counts by caller, and by idempotency key where calls have one.
#[derive(Serialize)]
struct Counts {
    #[serde(flatten)]
    truth: Truth,
    works: BTreeMap<String, Work>,
}

/// The API: `/` is limited, and `/counts` returns the counts.
pub fn routes(desk: Arc<Desk>) -> Router {
    Router::new()
        .route("/", get(call).post(call))
        .route("/counts", get(counts))
        .with_state(desk)
        .layer(cors::layer())
}

async fn call(State(desk): State<Arc<Desk>>, head: HeaderMap) -> Response {
    let number = |name: &str| -> Option<u64> {
        head.get(name).and_then(|value| value.to_str().ok()?.parse().ok())
    };
    let caller = number(CALLER).and_then(|name| usize::try_from(name).ok()).unwrap_or(0);
    let tokens = number(TOKENS).unwrap_or(1);
    let work = head.get(WORK).and_then(|value| value.to_str().ok());
    let Call { decided, told, arrived, turn } = desk.decide(caller, tokens);
    if let (Decided::Served, Some(work)) = (&decided, work) {
        desk.lock().works.serve(work);
    }
    if let Decided::Served = decided {
        let _place = Place { desk: &desk, arrived };
        pass(spread(desk.api.service(), turn)).await;
    }
    pass(spread(desk.api.latency, turn)).await;
    match decided {
        Decided::Out => (StatusCode::SERVICE_UNAVAILABLE, "down\n").into_response(),
        Decided::Throttled => {
            let status = desk.api.hints.throttled(desk.api.policy);
            (status, told, "throttled\n").into_response()
        }
        Decided::Served => {
            let mut books = desk.lock();
            books.ledger.row(caller, arrived).delivered += 1;
            if let Some(work) = work {
                books.works.deliver(work);
            }
            (told, "served\n").into_response()
        }
    }
}

async fn counts(State(desk): State<Arc<Desk>>) -> Json<Counts> {
    let truth = desk.truth();
    Json(Counts { truth, works: desk.lock().works.each().clone() })
}

impl Desk {
    pub fn new(api: Api, callers: usize) -> Self {
        let timeline = api.timeline();
        let limits = Limits::new(&api);
        let ledger = Ledger::new(callers);
        let works = Works::default();
        let books = Books { opened: Instant::now(), limits, ledger, works, turn: 0 };
        Desk { api, timeline, books: Mutex::new(books) }
    }

    pub fn lock(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The counts up to now, or to closing time.
    pub fn truth(&self) -> Truth {
        let books = self.lock();
        let end = books.ledger.end(books.now());
        Truth { callers: books.ledger.in_time().to_vec(), capacity: books.limits.capacity(end) }
    }

    fn decide(&self, caller: usize, tokens: u64) -> Call {
        let mut books = self.lock();
        // The clock is read under the lock, so that time never goes back for the policy.
        let arrived = books.now();
        let answer = match self.timeline.is_out(arrived) {
            true => None,
            false => Some(books.limits.admit(arrived, tokens)),
        };
        let row = books.ledger.row(caller, arrived);
        row.offered += 1;
        let decided = match &answer {
            None => {
                row.outage += 1;
                Decided::Out
            }
            Some(Answer { served: false, .. }) => {
                row.throttled += 1;
                Decided::Throttled
            }
            Some(Answer { served: true, .. }) => {
                row.served += 1;
                Decided::Served
            }
        };
        books.turn += 1;
        let turn = books.turn;
        drop(books);
        let told = answer.map(|answer| self.api.hints.headers(&answer, SystemTime::now()));
        Call { decided, told: told.unwrap_or_default(), arrived, turn }
    }
}

impl Books {
    fn now(&self) -> Nanos {
        nanos(self.opened.elapsed())
    }
}

/// The place of a served call. It is released even if the connection is lost.
struct Place<'a> {
    desk: &'a Desk,
    arrived: Nanos,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut books = self.desk.lock();
        let took = books.now().saturating_sub(self.arrived);
        books.limits.leave(took);
    }
}

/// Waits. A zero time uses no timer.
async fn pass(time: Duration) {
    if !time.is_zero() {
        sleep(time).await;
    }
}

/// Times spread evenly between 80 % and 120 % of the mean, by steps of the golden ratio instead of
/// a random generator.
fn spread(mean: Duration, turn: u64) -> Duration {
    let step = turn.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54;
    mean.mul_f64(0.8 + 0.4 * step as f64 / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_spread_evenly_around_their_mean() {
        let mean = Duration::from_millis(100);
        let times: Vec<Duration> = (0..1000).map(|turn| spread(mean, turn)).collect();
        assert!(times.iter().all(|time| (80..=120).contains(&time.as_millis())));
        let sum: Duration = times.iter().sum();
        assert!((99..=101).contains(&(sum / 1000).as_millis()), "{sum:?}");
    }
}
