//! Decides, counts and responds to every call.

use super::ledger::Ledger;
use super::limiter::Limiter;
use super::{CALLER, Nanos, Truth, WORK, cors, nanos};
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
    books: Mutex<Books>,
}

pub struct Books {
    pub opened: Instant,
    limiter: Limiter,
    pub ledger: Ledger,
    works: BTreeMap<String, Work>,
    /// The number of calls so far. It spreads their round-trip times.
    turn: u64,
}

/// The counts of an idempotency key. The API ignores keys and repeats the work, so they reveal repeated calls.
#[derive(Clone, Copy, Default, Serialize)]
struct Work {
    served: u64,
    /// Served, and the response was written to the connection.
    delivered: u64,
}

/// A decided call, and the response to its caller.
struct Call {
    served: bool,
    response: Response,
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
    let told = |name: &str| head.get(name)?.to_str().ok();
    let caller = told(CALLER).and_then(|number| number.parse().ok()).unwrap_or(0);
    let work = told(WORK);
    let Call { served, response, arrived, turn } = desk.decide(caller, work);
    if served {
        let _place = Place { desk: &desk, arrived };
        pass(spread(desk.api.service(), turn)).await;
    }
    pass(spread(desk.api.latency, turn)).await;
    if served {
        let mut books = desk.lock();
        books.ledger.row(caller, arrived).delivered += 1;
        if let Some(work) = work.and_then(|work| books.works.get_mut(work)) {
            work.delivered += 1;
        }
    }
    response
}

async fn counts(State(desk): State<Arc<Desk>>) -> Json<Counts> {
    let truth = desk.truth();
    Json(Counts { truth, works: desk.lock().works.clone() })
}

impl Desk {
    pub fn new(api: Api, callers: usize) -> Self {
        let (limiter, ledger) = (Limiter::new(&api), Ledger::new(callers));
        let works = BTreeMap::new();
        let books = Books { opened: Instant::now(), limiter, ledger, works, turn: 0 };
        Desk { api, books: Mutex::new(books) }
    }

    pub fn lock(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn truth(&self) -> Truth {
        let books = self.lock();
        let end = books.ledger.end(books.now());
        Truth { callers: books.ledger.in_time.clone(), capacity: books.limiter.capacity(end) }
    }

    fn decide(&self, caller: usize, work: Option<&str>) -> Call {
        let mut guard = self.lock();
        let books = &mut *guard;
        // The clock is read under the lock, so that time never goes back for the limit.
        let arrived = books.now();
        let row = books.ledger.row(caller, arrived);
        row.offered += 1;
        books.turn += 1;
        let turn = books.turn;
        let Some(served) = books.limiter.admit(arrived) else {
            row.outage += 1;
            let response = (StatusCode::SERVICE_UNAVAILABLE, "down\n").into_response();
            return Call { served: false, response, arrived, turn };
        };
        let told = books.limiter.told(SystemTime::now());
        let headers = self.api.hints.headers(served, &told);
        let response = if served {
            row.served += 1;
            if let Some(work) = work {
                books.works.entry(work.to_owned()).or_default().served += 1;
            }
            (headers, "served\n").into_response()
        } else {
            row.throttled += 1;
            let status = self.api.hints.throttled(self.api.policy);
            (status, headers, "throttled\n").into_response()
        };
        Call { served, response, arrived, turn }
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
        books.limiter.leave(took);
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
