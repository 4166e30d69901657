//! SDKs with a gate, as examples to copy.

use async_openai::config::OpenAIConfig;
use async_openai::error::OpenAIError;
use async_openai::middleware::{HttpRequestFactory, ReqwestService};
use http::{Request, Uri};
use http_body::Body;
use hyper_util::client::legacy::Client as HyperClient;
use hyper_util::rt::TokioExecutor;
use octocrab::service::middleware::base_uri::BaseUriLayer;
use octocrab::{AuthState, OctoBody, Octocrab, OctocrabBuilder};
use tidegate_tower::tidegate::signal::http::Unit;
use tidegate_tower::tidegate::{Outcome, Reply};
use tidegate_tower::{Call, Gate, ThrottleLayer, copy, read};
use tower::Layer;

/// async-openai, limited by requests and tokens. `tokens` is the expected number per call.
pub fn openai(
    gate: Gate<2>,
    config: OpenAIConfig,
    tokens: u32,
) -> async_openai::Client<OpenAIConfig> {
    let describe = move |_: &HttpRequestFactory, call: Call<2>| call.costing([1, tokens]);
    let repeat = |request: &mut HttpRequestFactory| Some(request.clone());
    let classify = |result: &Result<reqwest::Response, OpenAIError>| -> Reply<2> {
        match result {
            Ok(response) => {
                read(response.status(), response.headers()).about([Unit::Requests, Unit::Tokens])
            }
            Err(_) => Outcome::Failed.into(),
        }
    };
    let throttle = ThrottleLayer::new(gate).describe(describe).repeat(repeat).classify(classify);
    let service = throttle.layer(ReqwestService::new(reqwest::Client::new()));
    async_openai::Client::with_config(config).with_http_service(service)
}

/// octocrab with hyper's client. Give it a connector with TLS.
pub fn github(gate: Gate, api: Uri) -> Octocrab {
    let body =
        |body: &OctoBody| body.try_clone().or_else(|| body.is_end_stream().then(OctoBody::empty));
    let repeat = move |request: &mut Request<OctoBody>| copy(request, body);
    let client = HyperClient::builder(TokioExecutor::new()).build_http::<OctoBody>();
    let service = ThrottleLayer::new(gate).repeat(repeat).layer(client);
    let builder = OctocrabBuilder::new_empty()
        .with_service(service)
        .with_layer(&BaseUriLayer::new(api))
        .with_auth(AuthState::None);
    match builder.build() {
        Ok(octocrab) => octocrab,
        Err(never) => match never {},
    }
}
