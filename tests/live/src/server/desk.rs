//! Where every call is decided, counted and answered.

use super::ledger::Ledger;
use super::limiter::{Answer, Limiter};
use super::{CALLER, Nanos, Timeline, Truth, nanos};
use crate::options::{Api, PolicyName};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// One lock, so that the order of arrival is one order.
pub struct Desk {
    api: Api,
    timeline: Timeline,
    books: Mutex<Books>,
}

pub struct Books {
    pub opened: Instant,
    pub limiter: Limiter,
    pub ledger: Ledger,
    /// How many calls have come, which spreads the time that they take.
    turn: u64,
}

enum Decided {
    Out,
    Refused(Answer),
    Served(Answer),
}

/// A call that has been decided.
struct Call {
    decided: Decided,
    arrived: Nanos,
    turn: u64,
}

/// The API: `/` is limited, `/counts` tells the truth about it.
pub fn routes(desk: Arc<Desk>) -> Router {
    Router::new().route("/", get(call)).route("/counts", get(counts)).with_state(desk)
}

async fn call(State(desk): State<Arc<Desk>>, head: HeaderMap) -> Response {
    let caller = head.get(CALLER).and_then(|name| name.to_str().ok()?.parse().ok()).unwrap_or(0);
    let Call { decided, arrived, turn } = desk.decide(caller);
    if let Decided::Served(_) = decided {
        let _place = Place { desk: &desk, arrived };
        sleep(spread(desk.api.service(), turn)).await;
    }
    sleep(spread(desk.api.latency, turn)).await;
    match decided {
        Decided::Out => (StatusCode::SERVICE_UNAVAILABLE, "down\n").into_response(),
        Decided::Refused(answer) => {
            (desk.refusal(), desk.head(&answer), "refused\n").into_response()
        }
        Decided::Served(answer) => {
            desk.lock().ledger.row(caller, arrived).delivered += 1;
            (desk.head(&answer), "served\n").into_response()
        }
    }
}

async fn counts(State(desk): State<Arc<Desk>>) -> Json<Truth> {
    Json(desk.truth())
}

impl Desk {
    pub fn new(api: Api, callers: usize) -> Self {
        let timeline = api.timeline();
        let limiter = Limiter::new(&api, timeline.clone());
        let ledger = Ledger::new(callers);
        let books = Books { opened: Instant::now(), limiter, ledger, turn: 0 };
        Desk { api, timeline, books: Mutex::new(books) }
    }

    pub fn lock(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The counts up to now, or to closing time.
    pub fn truth(&self) -> Truth {
        let books = self.lock();
        let end = books.ledger.end(books.now());
        Truth { callers: books.ledger.in_time().to_vec(), capacity: books.limiter.capacity(end) }
    }

    fn decide(&self, caller: usize) -> Call {
        let mut books = self.lock();
        // The clock is read under the lock, so that it never runs backwards for the policy.
        let arrived = books.now();
        let decided = if self.timeline.is_out(arrived) {
            Decided::Out
        } else {
            let answer = books.limiter.admit(arrived);
            if answer.served { Decided::Served(answer) } else { Decided::Refused(answer) }
        };
        let row = books.ledger.row(caller, arrived);
        row.offered += 1;
        match decided {
            Decided::Out => row.outage += 1,
            Decided::Refused(_) => row.throttled += 1,
            Decided::Served(_) => row.served += 1,
        }
        books.turn += 1;
        Call { decided, arrived, turn: books.turn }
    }

    fn refusal(&self) -> StatusCode {
        match self.api.policy {
            PolicyName::Concurrency => StatusCode::SERVICE_UNAVAILABLE,
            PolicyName::Gcra | PolicyName::Window => StatusCode::TOO_MANY_REQUESTS,
        }
    }

    /// What the headers say, as far as this API says anything.
    fn head(&self, answer: &Answer) -> HeaderMap {
        let mut head = HeaderMap::new();
        let standing = &answer.standing;
        let mut set = |name, value: u64| head.insert(name, HeaderValue::from(value));
        match self.api.policy {
            PolicyName::Gcra if self.api.headers => {
                set("ratelimit-remaining", standing.remaining);
            }
            PolicyName::Window if self.api.headers => {
                set("x-ratelimit-limit", standing.limit);
                set("x-ratelimit-remaining", standing.remaining);
                set("x-ratelimit-reset", seconds_up(standing.reset));
            }
            _ => {}
        }
        if self.api.retry_after && !answer.served {
            set("retry-after", seconds_up(standing.retry));
        }
        head
    }
}

impl Books {
    fn now(&self) -> Nanos {
        nanos(self.opened.elapsed())
    }
}

/// A served call's place, given back also when its connection is lost half-way.
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

/// Times from 80 % to 120 % of the mean, evenly: steps of the golden section fill a range without
/// a generator.
fn spread(mean: Duration, turn: u64) -> Duration {
    let step = turn.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54;
    mean.mul_f64(0.8 + 0.4 * step as f64 / 1024.0)
}

/// Whole seconds, as the headers have them, rounded up so that who waits has waited enough.
fn seconds_up(nanos: Nanos) -> u64 {
    nanos.div_ceil(1_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_lie_evenly_around_their_mean() {
        let mean = Duration::from_millis(100);
        let times: Vec<Duration> = (0..1000).map(|turn| spread(mean, turn)).collect();
        assert!(times.iter().all(|time| (80..=120).contains(&time.as_millis())));
        let sum: Duration = times.iter().sum();
        assert!((99..=101).contains(&(sum / 1000).as_millis()), "{sum:?}");
    }

    #[test]
    fn header_seconds_are_never_too_few() {
        for (nanos, seconds) in [(0, 0), (1, 1), (1_000_000_000, 1), (1_000_000_001, 2)] {
            assert_eq!(seconds_up(nanos), seconds);
        }
    }
}
