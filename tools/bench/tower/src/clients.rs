//! The compared clients, each as a tower service with the same HTTP client.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use governor::{Quota, RateLimiter};
use reqwest::{Client as Http, Request, Response};
use reqwest_middleware::ClientBuilder;
use reqwest_retry::RetryTransientMiddleware;
use reqwest_retry::policies::ExponentialBackoff;
use tidegate_tower::tidegate::signal::http::Unit;
use tidegate_tower::tidegate::{Outcome, Policy, Reply};
use tidegate_tower::{Call, Describe, Gate, Standard, ThrottleLayer, read};
use tower::retry::backoff::{Backoff, ExponentialBackoffMaker, MakeBackoff};
use tower::util::{BoxCloneService, rng::HasherRng};
use tower::{BoxError, ServiceBuilder, ServiceExt, service_fn};

use crate::server::TOKENS;

pub type Client = BoxCloneService<Request, Response, BoxError>;

/// The implementation that limits and retries the calls.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Who {
    Tidegate,
    Governor,
    Retry,
    Tower,
}

impl Who {
    pub const ALL: [Self; 4] = [Self::Tidegate, Self::Governor, Self::Retry, Self::Tower];
    /// All except tidegate.
    pub const PEERS: [Self; 3] = [Self::Governor, Self::Retry, Self::Tower];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Tidegate => "tidegate-tower",
            Self::Governor => "governor + reqwest-retry",
            Self::Retry => "reqwest-retry",
            Self::Tower => "tower RateLimit + Retry",
        }
    }

    /// Whether it has to be configured with a rate.
    pub const fn is_told(self) -> bool {
        matches!(self, Self::Governor | Self::Tower)
    }

    /// A client with separate connections. `rate` is for clients that need one. `counts_tokens`
    /// says that the server also limits tokens.
    pub fn client(self, rate: u32, counts_tokens: bool) -> Result<Client> {
        let http = Http::builder().no_proxy().build()?;
        let rate = NonZeroU32::new(rate).context("the rate is zero")?;
        Ok(match self {
            Self::Tidegate if counts_tokens => throttled_by_tokens(http),
            Self::Tidegate => {
                let layer = ThrottleLayer::new(Gate::adaptive());
                ServiceBuilder::new().layer(layer).service(http).boxed_clone()
            }
            Self::Governor => {
                let limiter = Arc::new(RateLimiter::direct(Quota::per_second(rate)));
                let client = retried(http);
                ServiceBuilder::new()
                    .service_fn(move |request| {
                        let (limiter, client) = (limiter.clone(), client.clone());
                        async move {
                            limiter.until_ready().await;
                            Ok(client.execute(request).await?)
                        }
                    })
                    .boxed_clone()
            }
            Self::Retry => {
                let client = retried(http);
                service_fn(move |request| {
                    let client = client.clone();
                    async move { Ok(client.execute(request).await?) }
                })
                .boxed_clone()
            }
            // The retry is outside the limit, so retries are paced too.
            Self::Tower => ServiceBuilder::new()
                .retry(Attempts { left: RETRIES, backoff: None })
                .buffer(1_024)
                .rate_limit(rate.get().into(), Duration::from_secs(1))
                .service(http)
                .boxed_clone(),
        })
    }
}

/// Retries of the other clients, the same maximum as in tidegate's policy.
const RETRIES: u32 = 9;
/// Their shortest and longest backoff.
const BACKOFF: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(20)];

/// A gate with limits for requests and for tokens. It reserves the tokens that a request may use,
/// and corrects them by those that the response used.
fn throttled_by_tokens(http: Http) -> Client {
    let gate: Gate<2> = {
        let one = Policy::adaptive();
        Gate::new(one.beside(&one))
    };
    let describe = |request: &Request, call: Call<2>| {
        let tokens = number(request.headers());
        Standard.describe(request, call).costing([1, tokens + tokens / 4])
    };
    let classify = |result: &Result<Response, reqwest::Error>| -> Reply<2> {
        let Ok(response) = result else { return Outcome::Failed.into() };
        let answer = read(response.status(), response.headers());
        let reply = answer.about([Unit::Requests, Unit::Tokens]);
        match response.status().is_success() {
            true => reply.using([1, number(response.headers())]),
            false => reply,
        }
    };
    let layer = ThrottleLayer::new(gate).describe(describe).classify(classify);
    ServiceBuilder::new().layer(layer).service(http).boxed_clone()
}

fn number(headers: &http::HeaderMap) -> u32 {
    let value = headers.get(TOKENS).and_then(|value| value.to_str().ok()?.parse().ok());
    value.unwrap_or(1)
}

fn retried(http: Http) -> reqwest_middleware::ClientWithMiddleware {
    let backoff = ExponentialBackoff::builder().retry_bounds(BACKOFF[0], BACKOFF[1]);
    let policy = backoff.build_with_max_retries(RETRIES);
    ClientBuilder::new(http).with(RetryTransientMiddleware::new_with_policy(policy)).build()
}

/// tower's Retry with its backoff.
#[derive(Clone)]
struct Attempts {
    left: u32,
    backoff: Option<tower::retry::backoff::ExponentialBackoff>,
}

impl tower::retry::Policy<Request, Response, BoxError> for Attempts {
    type Future = tokio::time::Sleep;

    fn retry(
        &mut self,
        _: &mut Request,
        result: &mut Result<Response, BoxError>,
    ) -> Option<Self::Future> {
        if result.as_ref().is_ok_and(|response| response.status().is_success()) {
            return None;
        }
        self.left = self.left.checked_sub(1)?;
        if self.backoff.is_none() {
            // One generator per call, because clones would produce the same jitter.
            let maker = ExponentialBackoffMaker::new(BACKOFF[0], BACKOFF[1], 1.0, HasherRng::new());
            self.backoff = maker.ok().map(|mut maker| maker.make_backoff());
        }
        self.backoff.as_mut().map(Backoff::next_backoff)
    }

    fn clone_request(&mut self, request: &Request) -> Option<Request> {
        request.try_clone()
    }
}
