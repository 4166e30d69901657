//! A Cloudflare worker that calls an API through a gate, with the worker's timer.

use std::cell::OnceCell;
use std::time::Duration;

use tidegate_tower::tidegate::signal::http::Reading;
use tidegate_tower::tidegate::{Instant, Policy, Reply};
use tidegate_tower::{Builder, Gate, Timer};
use worker::{Context, Date, Delay, Env, Fetch, Request, Response, Result, event};

/// The worker's clock, which advances with each input and output.
#[derive(Debug)]
struct Worker;

impl Timer for Worker {
    type Sleep = Delay;

    fn now(&self) -> Instant {
        Instant::from_nanos(Date::now().as_millis() * 1_000_000)
    }

    fn sleep_until(&self, at: Instant) -> Delay {
        let wait = (at - self.now()).as_nanos().div_ceil(1_000_000);
        Duration::from_millis(wait).into()
    }

    // A request cannot wake another, so each watches the clock itself.
    fn patience(&self) -> Duration {
        Duration::ZERO
    }
}

thread_local! {
    /// One gate for all requests of the isolate. It is created by the first one, because there is
    /// no randomness before.
    static GATE: OnceCell<Gate<1, Worker>> = const { OnceCell::new() };
}

fn gate() -> Gate<1, Worker> {
    let make = || {
        let seed = (js_sys::Math::random() * 2_f64.powi(53)) as u64;
        // A request that dies is not dropped. A permit that it has not taken passes to another
        // after half a minute.
        Builder::new(Policy::adaptive(), Worker)
            .seed(seed)
            .take_within(Duration::from_secs(30))
            .build()
    };
    GATE.with(|gate| gate.get_or_init(make).clone())
}

/// Forwards the request's path to the API.
#[event(fetch)]
async fn fetch(request: Request, _: Env, _: Context) -> Result<Response> {
    let url = format!("https://api.example.com{}", request.path());
    let call = gate().with_timeout(Duration::from_secs(25)).idempotent();
    let read = |result: &Result<Response>| -> Reply {
        let Ok(response) = result else { return tidegate_tower::tidegate::Outcome::Failed.into() };
        let mut reading = Reading::new(response.status_code());
        for (name, value) in response.headers() {
            reading.header(&name, &value);
        }
        reading
            .finish(Some(tidegate_tower::tidegate::Span::from_millis(Date::now().as_millis())))
            .into()
    };
    let send = || {
        let url = url.clone();
        async move { Fetch::Url(url.parse()?).send().await }
    };
    match call.run_with(read, send).await {
        Ok(result) => result,
        Err(error) => Response::error(error.to_string(), 503),
    }
}
