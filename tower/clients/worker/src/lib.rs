//! A Cloudflare worker that calls an API through a gate.

use std::time::Duration;

use tidegate_tower::tidegate::signal::http::Reading;
use tidegate_tower::tidegate::{Outcome, Policy, Reply, Span};
use tidegate_tower::{Builder, Gate, Js};
use worker::{Context, Date, Env, Fetch, Request, Response, Result, event};

thread_local! {
    /// One gate for all requests of the isolate. It is created by the first one, because there is
    /// no randomness before.
    static GATE: Gate<1, Js> = {
        // A request that dies is not dropped. A permit that it has not taken passes to another
        // after half a minute.
        let gate = Builder::new(Policy::adaptive(), Js::default());
        gate.take_within(Duration::from_secs(30)).build()
    };
}

/// Forwards the request's path to the API, whose address is the variable `API` of the worker.
#[event(fetch)]
async fn fetch(request: Request, env: Env, _: Context) -> Result<Response> {
    let url = format!("{}{}", env.var("API")?, request.path());
    let call = GATE.with(Gate::clone).with_timeout(Duration::from_secs(25)).idempotent();
    let read = |result: &Result<Response>| -> Reply {
        let Ok(response) = result else { return Outcome::Failed.into() };
        let mut reading = Reading::new(response.status_code());
        for (name, value) in response.headers() {
            reading.header(&name, &value);
        }
        reading.finish(Some(Span::from_millis(Date::now().as_millis()))).into()
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
