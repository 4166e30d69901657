//! The web page beside the demo: its files, and a live feed.
//!
//! Readers cannot slow down the demo: each gets copies of the latest state, and slow readers miss some.

mod feed;

pub use feed::{Feed, of_api};

use crate::loopback::is_loopback;
use crate::options::PageOptions;
use anyhow::{Context, Result};
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::sse::Sse;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tower_http::compression::CompressionLayer;
use tower_http::services::ServeDir;

/// The default port of the page, if it is free. It is fixed so that a page that stays open finds
/// the next demo.
const PORT: u16 = 8433;

/// How long readers may take to receive the end of the feed.
const FAREWELL: Duration = Duration::from_secs(1);

/// A tag in the head of `live.html` that says that a demo serves it.
const MARK: &str = "<meta name=\"tidegate-live\" content=\"on\">";

/// The content security policy. The page may run its own scripts and call servers on this machine.
/// No other site may embed it (clickjacking).
const ALLOWED: &str = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; \
    style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; \
    connect-src 'self' http://127.0.0.1:*; frame-ancestors 'none'";

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
        let read = |name| {
            std::fs::read_to_string(folder.join(name)).with_context(|| {
                let folder = folder.display();
                format!("{folder} does not contain {name}; cargo xtask demo --page builds the page")
            })
        };
        let (index, live) = (read("index.html")?, read("live.html")?);
        let listener = listen(options.page_port).await?;
        let address = listener.local_addr().context("the page has no address")?;
        let feed = Feed::default();
        let routes = routes(folder, index, &live, feed.clone());
        let task = tokio::spawn(async move {
            // It never ends by itself.
            let _ = axum::serve(listener, routes).await;
        });
        Ok(Some(Page { address, feed, task }))
    }

    pub fn url(&self) -> String {
        format!("http://{}/live.html", self.address)
    }

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

fn routes(folder: &Path, index: String, live: &str, feed: Feed) -> Router {
    let live = Html(live.replacen("</head>", &format!("{MARK}</head>"), 1));
    let files = ServeDir::new(folder).append_index_html_on_directories(false);
    Router::new()
        .route("/", get(async || Html(index)))
        .route("/live.html", get(async || live))
        .route("/events", get(async |State(feed): State<Feed>| Sse::new(feed.stream())))
        .route("/api", get(latest))
        .with_state(feed)
        .fallback_service(files)
        .layer(CompressionLayer::new())
        .layer(from_fn(guard))
}

/// Rejects requests for other host names, which prevents DNS rebinding, and adds the headers of all responses.
async fn guard(request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    if !host.is_some_and(is_loopback) {
        return (StatusCode::FORBIDDEN, "only 127.0.0.1 and localhost are served\n")
            .into_response();
    }
    // The names of these files change with their content.
    let hashed = request.uri().path().starts_with("/assets/");
    let mut response = next.run(request).await;
    let keep = match hashed && response.status().is_success() {
        true => "public, max-age=31536000, immutable",
        false => "no-cache",
    };
    for (name, value) in [
        (header::CACHE_CONTROL, keep),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CONTENT_SECURITY_POLICY, ALLOWED),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

async fn latest(State(feed): State<Feed>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], feed.latest()).into_response()
}
