//! The loads and their results.

use std::time::Duration;

use anyhow::Result;
use reqwest::{Method, Request};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout_at};
use tower::ServiceExt;

use crate::clients::Client;
use crate::server::TOKENS;

/// Calls not served by then are lost.
pub const LIMIT: Duration = Duration::from_secs(150);

/// When calls start.
#[derive(Clone, Copy, Debug)]
pub enum Load {
    AtOnce(u32),
    Sequential(u32),
    Every(Duration, u32),
}

impl Load {
    pub const fn calls(self) -> u32 {
        match self {
            Self::AtOnce(calls) | Self::Sequential(calls) | Self::Every(_, calls) => calls,
        }
    }

    /// When a call starts.
    fn comes(self, call: u32) -> Duration {
        match self {
            Self::Every(each, _) => each * call,
            Self::AtOnce(_) | Self::Sequential(_) => Duration::ZERO,
        }
    }
}

/// How long all calls took, and how many were not served.
#[derive(Clone, Copy, Debug)]
pub struct Took {
    pub seconds: f64,
    pub lost: u32,
}

pub async fn drive(load: Load, client: Client, url: &str) -> Result<Took> {
    let start = Instant::now();
    let mut served = 0;
    if let Load::Sequential(calls) = load {
        for number in 0..calls {
            let call = call(client.clone(), request(url, number)?);
            served += u32::from(timeout_at(start + LIMIT, call).await.unwrap_or(false));
        }
    } else {
        let mut calls = JoinSet::new();
        for number in 0..load.calls() {
            sleep_until(start + load.comes(number)).await;
            let call = call(client.clone(), request(url, number)?);
            calls.spawn(async move { timeout_at(start + LIMIT, call).await.unwrap_or(false) });
        }
        while let Some(done) = calls.join_next().await {
            served += u32::from(done?);
        }
    }
    Ok(Took { seconds: start.elapsed().as_secs_f64(), lost: load.calls() - served })
}

fn request(url: &str, number: u32) -> Result<Request> {
    let mut request = Request::new(Method::GET, url.parse()?);
    request.headers_mut().insert(TOKENS, tokens(number).into());
    Ok(request)
}

/// The tokens that a call uses: 50 to 949.
pub const fn tokens(call: u32) -> u32 {
    50 + (call.wrapping_mul(2_654_435_761) >> 16) % 900
}

/// Whether the call was served, with its whole body.
async fn call(client: Client, request: Request) -> bool {
    match client.oneshot(request).await {
        Ok(response) if response.status().is_success() => response.bytes().await.is_ok(),
        _ => false,
    }
}
