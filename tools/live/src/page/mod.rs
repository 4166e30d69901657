//! The web page beside the demo: its files, and a live feed.
//!
//! Readers cannot slow down the demo: each gets copies of the latest state, slow readers miss some,
//! and stalled readers are disconnected.

mod assets;
mod connections;
mod feed;

pub use feed::{Feed, Moment};

use crate::loopback::is_loopback;
use crate::options::PageOptions;
use anyhow::{Context, Result};
use assets::Assets;
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{StatusCode, Uri, header};
use axum::middleware::{Next, from_fn};
use axum::response::sse::Sse;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// The default port of the page, if it is free. It is fixed so that a page that stays open finds
/// the next demo.
const PORT: u16 = 8433;

/// How long readers may take to receive the end of the feed.
const FAREWELL: Duration = Duration::from_secs(1);

/// The page's server. Dropping it stops serving.
pub struct Page {
    address: SocketAddr,
    feed: Feed,
    task: JoinHandle<()>,
}

impl Page {
    /// Serves the page if the options request one.
    pub async fn open(options: &PageOptions) -> Result<Option<Self>> {
        let Some(folder) = options.folder() else { return Ok(None) };
        let assets = Assets::load(folder)?;
        let listener = listen(options.page_port).await?;
        let address = listener.local_addr().context("the page has no address")?;
        let feed = Feed::default();
        let routes = routes(Arc::new(assets), feed.clone());
        let task = tokio::spawn(connections::accept(listener, routes));
        Ok(Some(Page { address, feed, task }))
    }

    /// The page's address.
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// The feed that updates the page.
    pub fn feed(&self) -> Feed {
        self.feed.clone()
    }

    /// Announces the end to readers, and stops serving.
    pub async fn close(self) {
        self.feed.end(FAREWELL).await;
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn listen(wanted: Option<u16>) -> Result<TcpListener> {
    let at = |port| SocketAddr::from(([127, 0, 0, 1], port));
    match wanted {
        Some(port) => {
            let taken = || format!("cannot listen on {}; choose another --page-port", at(port));
            TcpListener::bind(at(port)).await.with_context(taken)
        }
        None => match TcpListener::bind(at(PORT)).await {
            Ok(listener) => Ok(listener),
            Err(_) => TcpListener::bind(at(0)).await.context("no port is free for the page"),
        },
    }
}

fn routes(assets: Arc<Assets>, feed: Feed) -> Router {
    Router::new()
        .route("/events", get(events))
        .route("/api", get(latest))
        .with_state(feed)
        .fallback(get(file).with_state(assets))
        .layer(from_fn(only_from_here))
}

/// Rejects requests for other host names, which prevents DNS rebinding.
async fn only_from_here(request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    if host.is_some_and(is_loopback) {
        return next.run(request).await;
    }
    (StatusCode::FORBIDDEN, "only 127.0.0.1 and localhost are served\n").into_response()
}

async fn events(State(feed): State<Feed>) -> Response {
    let head = [(header::CACHE_CONTROL, "no-store")];
    (head, Sse::new(feed.stream())).into_response()
}

async fn latest(State(feed): State<Feed>) -> Response {
    let head = [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")];
    (head, feed.latest()).into_response()
}

async fn file(State(assets): State<Arc<Assets>>, uri: Uri, request: Request) -> Response {
    assets.answer(uri.path(), request.headers())
}
