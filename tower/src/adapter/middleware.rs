//! reqwest-middleware: the layer is also a middleware.

use ::http::Extensions;
use ::reqwest::{Request, Response};
use async_trait::async_trait;
use reqwest_middleware::{Error as MiddlewareError, Middleware, Next, Result};

use crate::adapter::reqwest::peeked;
use crate::classify::Classify;
use crate::drive::drive;
use crate::layer::ThrottleLayer;
use crate::request::{Describe, Repeat};
use crate::timer::Timer;

/// ```no_run
/// use reqwest_middleware::ClientBuilder;
/// use tidegate_tower::{Gate, ThrottleLayer};
///
/// # async fn example() -> Result<(), reqwest_middleware::Error> {
/// let throttle = ThrottleLayer::new(Gate::adaptive());
/// let client = ClientBuilder::new(reqwest::Client::new()).with(throttle).build();
/// let response = client.get("https://api.example.com/").send().await?;
/// # Ok(()) }
/// ```
#[async_trait]
impl<const LIMITS: usize, T, D, P, C> Middleware for ThrottleLayer<LIMITS, T, D, P, C>
where
    T: Timer<Sleep: Send> + Send + Sync,
    D: Describe<Request, LIMITS, T> + Send + Sync + 'static,
    P: Repeat<Request> + Send + Sync + 'static,
    C: Classify<Result<Response>, LIMITS> + Send + Sync + 'static,
{
    async fn handle(
        &self,
        request: Request,
        extensions: &mut Extensions,
        next: Next<'_>,
    ) -> Result<Response> {
        let call = self.describe.describe(&request, self.gate.call());
        let repeat = |request: &mut Request| self.repeat.repeat(request);
        let classify = |(result, _): &(Result<Response>, _)| self.classify.classify(result);
        // Each attempt starts with the extensions of the request.
        let given = extensions.clone();
        let send = |request| {
            let (next, mut extensions) = (next.clone(), given.clone());
            async move {
                let result = match next.run(request, &mut extensions).await {
                    Ok(response) => Ok(peeked(response).await),
                    lost => lost,
                };
                (result, extensions)
            }
        };
        drive(call, request, self.holds, repeat, classify, send, |driven| {
            let ((result, left), end) =
                driven.map_err(|error| MiddlewareError::Middleware(error.into()))?;
            *extensions = left;
            Ok(end.hold(result?))
        })
        .await
    }
}
