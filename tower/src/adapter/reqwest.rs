//! reqwest: its requests, responses and errors, and a request that is sent through a gate.

use std::fmt;
use std::future::Future;

use ::reqwest::{
    Body, Error as ReqwestError, Request, RequestBuilder, Response, ResponseBuilderExt, Url,
};
use tidegate::signal::http::outcome;
use tidegate::{Outcome, Reply};

use crate::call::Call;
use crate::classify::{Classify, Standard};
use crate::drive::{End, Guard, drive};
use crate::error::Error;
use crate::peek::{is_worth, peek};
use crate::request::{Describe, Repeat, is_idempotent};
use crate::response::{Hold, read_with};
use crate::timer::Timer;

impl<const LIMITS: usize, T: Timer> Describe<Request, LIMITS, T> for Standard {
    fn describe(&self, request: &Request, call: Call<LIMITS, T>) -> Call<LIMITS, T> {
        let is_idempotent = is_idempotent(request.method(), request.headers());
        call.of_request(request.url().authority(), is_idempotent)
    }
}

impl Repeat<Request> for Standard {
    fn repeat(&self, request: &mut Request) -> Option<Request> {
        request.try_clone()
    }
}

impl<const LIMITS: usize> Classify<Response, LIMITS> for Standard {
    fn classify(&self, response: &Response) -> Reply<LIMITS> {
        read_with(response.status(), response.headers(), response.extensions()).into()
    }
}

/// An error of `error_for_status` counts as its status. A request that could not be built was not
/// sent.
impl<const LIMITS: usize> Classify<ReqwestError, LIMITS> for Standard {
    fn classify(&self, error: &ReqwestError) -> Reply<LIMITS> {
        let outcome = match error.status() {
            Some(status) => outcome(status.as_u16()),
            None if error.is_builder() => Outcome::Abandoned,
            None if error.is_redirect() => Outcome::Ok,
            None => Outcome::Failed,
        };
        outcome.into()
    }
}

impl<const LIMITS: usize, T: Timer + Send + Sync> Hold<LIMITS, T> for Response {
    type Held = Self;

    fn hold(self, guard: Option<Guard<LIMITS, T>>) -> Self {
        let Some(guard) = guard else { return self };
        let (url, response) = (self.url().clone(), ::http::Response::from(self));
        response_of(&url, response.hold(Some(guard)).map(Body::wrap))
    }

    fn gave_up(&mut self, why: Error) {
        self.extensions_mut().insert(why);
    }
}

/// The response with its URL, which a response of `http` does not keep.
fn response_of(url: &Url, mut response: ::http::Response<Body>) -> Response {
    if let Ok(made) = ::http::Response::builder().url(url.clone()).body(()) {
        response.extensions_mut().extend(made.into_parts().0.extensions);
    }
    response.into()
}

/// The same response, with its body inspected if that can be relevant.
pub(crate) async fn peeked(response: Response) -> Response {
    if !is_worth(response.status(), response.headers(), false) {
        return response;
    }
    let url = response.url().clone();
    response_of(&url, peek(response.into(), false).await.map(Body::wrap))
}

/// Sends a request of reqwest through a gate.
///
/// The key is the host. A throttled request is retried within the policy's limits. A failed request is retried if its
/// method is idempotent or it has an `Idempotency-Key`. The permit ends with the response body.
///
/// ```no_run
/// use std::time::Duration;
/// use tidegate_tower::{Gate, SendThrough};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let (gate, client) = (Gate::adaptive(), reqwest::Client::new());
/// let text = client.get("https://api.example.com/").send_through(&gate).await?.text().await?;
///
/// let urgent = gate.call().with_priority(7).with_timeout(Duration::from_secs(30));
/// let response = client.get("https://api.example.com/").send_through(urgent).await?;
/// # Ok(()) }
/// ```
pub trait SendThrough {
    /// Sends the request when it may be sent, and retries it within the policy's limits. Pass a
    /// gate, or a [`Call`] with a key, a priority or a timeout.
    ///
    /// # Errors
    /// [`SendError::NotSent`] if the gate rejected it, [`SendError::Failed`] if `send` failed.
    fn send_through<T: Timer<Sleep: Send> + Send + Sync>(
        self,
        call: impl Into<Call<1, T>>,
    ) -> impl Future<Output = Result<Response, SendError>> + Send;
}

impl SendThrough for RequestBuilder {
    fn send_through<T: Timer<Sleep: Send> + Send + Sync>(
        self,
        call: impl Into<Call<1, T>>,
    ) -> impl Future<Output = Result<Response, SendError>> + Send {
        let call = call.into();
        async move {
            let (client, request) = self.build_split();
            let request = request?;
            let call = Standard.describe(&request, call);
            let repeat = |request: &mut Request| Standard.repeat(request);
            let send = |request| {
                let sent = client.execute(request);
                async { Ok(peeked(sent.await?).await) }
            };
            drive(call, request, true, repeat, Standard, send, |driven| {
                match driven.map_err(SendError::NotSent)? {
                    (Ok(response), end) => Ok(end.hold(response)),
                    (Err(error), End::GaveUp(why)) => {
                        Err(SendError::Failed { error, gave_up: Some(why) })
                    }
                    (Err(error), _) => Err(error.into()),
                }
            })
            .await
        }
    }
}

/// Why [`SendThrough`] has no response.
///
/// ```
/// use tidegate_tower::SendError;
///
/// fn is_worth_a_later_try(error: &SendError) -> bool {
///     match error {
///         SendError::NotSent(error) => error.wait().is_some(),
///         SendError::Failed { error, .. } => error.is_connect(),
///         _ => false,
///     }
/// }
/// # let _ = is_worth_a_later_try;
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum SendError {
    /// The gate did not admit the request, or abandoned it at its deadline.
    NotSent(Error),
    /// The last attempt of reqwest failed.
    Failed {
        /// With this.
        error: ReqwestError,
        /// Why there is no further attempt. `None` if a retry would not help, for example if the request is malformed.
        gave_up: Option<Error>,
    },
}

impl From<ReqwestError> for SendError {
    fn from(error: ReqwestError) -> Self {
        Self::Failed { error, gave_up: None }
    }
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSent(error) => error.fmt(f),
            Self::Failed { error, gave_up: None } => error.fmt(f),
            Self::Failed { error, gave_up: Some(why) } => write!(f, "{error}; {why}"),
        }
    }
}

impl std::error::Error for SendError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::NotSent(error) => error.source(),
            Self::Failed { error, .. } => error.source(),
        }
    }
}
