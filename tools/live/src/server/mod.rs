//! A real HTTP API on loopback that limits and counts its callers.

mod cors;
mod desk;
mod hints;
mod ledger;
pub mod like;
mod limiter;
mod provider;
mod told;

pub use ledger::Row;
pub use provider::Provider;

use crate::options::Api;
use anyhow::{Context, Result};
use desk::Desk;
use serde::Serialize;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// Nanoseconds since the server began to count.
pub type Nanos = u64;

/// A duration in nanoseconds. It saturates.
pub fn nanos(duration: Duration) -> Nanos {
    Nanos::try_from(duration.as_nanos()).unwrap_or(Nanos::MAX)
}

/// The header with the number of the client process.
pub const CALLER: &str = "x-client";

/// The header that identifies a logical call, which may arrive more than once.
pub const WORK: &str = "idempotency-key";

#[derive(Clone, Debug, Serialize)]
pub struct Truth {
    /// By caller, anonymous calls first.
    pub callers: Vec<Row>,
    /// Calls that could have been served so far.
    pub capacity: f64,
}

impl Truth {
    pub fn total(&self) -> Row {
        self.callers.iter().fold(Row::default(), |mut sum, row| {
            sum += *row;
            sum
        })
    }
}

/// A running server. It stops on [`Server::stop`] or when dropped.
pub struct Server {
    desk: Arc<Desk>,
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    task: JoinHandle<std::io::Result<()>>,
}

impl Server {
    /// Serves `api` on a loopback port, or on any free one for port 0.
    pub async fn open(api: &Api, callers: usize) -> Result<Self> {
        let wanted = SocketAddr::from(([127, 0, 0, 1], api.port));
        let listener = TcpListener::bind(wanted).await.map_err(|error| Taken { wanted, error })?;
        let address = listener.local_addr().context("the server has no address")?;
        let desk = Arc::new(Desk::new(api.clone(), callers));
        let (stop, stopped) = oneshot::channel::<()>();
        let serve =
            axum::serve(listener, desk::routes(desk.clone())).with_graceful_shutdown(async {
                // A dropped sender also stops the server.
                let _ = stopped.await;
            });
        Ok(Server { desk, address, stop, task: tokio::spawn(serve.into_future()) })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Resets the clock: the bucket is full and the first window begins.
    pub fn begin(&self) {
        self.desk.lock().opened = Instant::now();
    }

    pub fn elapsed(&self) -> Duration {
        self.desk.lock().opened.elapsed()
    }

    /// Sets the closing time. Later calls get a response but are counted separately.
    pub fn close_books(&self, at: Duration) {
        self.desk.lock().ledger.closing = nanos(at);
    }

    /// The counts up to now, or to closing time.
    pub fn truth(&self) -> Truth {
        self.desk.truth()
    }

    /// Calls served to each caller, including late calls.
    pub fn served_in_all(&self) -> Vec<u64> {
        self.desk.lock().ledger.served_in_all()
    }

    /// Stops listening, waits briefly for calls in flight, and frees the port.
    pub async fn stop(mut self) {
        let _ = self.stop.send(());
        if tokio::time::timeout(Duration::from_secs(2), &mut self.task).await.is_err() {
            self.task.abort();
        }
    }
}

#[derive(Debug)]
pub struct Taken {
    wanted: SocketAddr,
    error: std::io::Error,
}

impl std::fmt::Display for Taken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Taken { wanted, error } = self;
        write!(
            f,
            "cannot listen on {wanted}: {error}; choose another --port, or omit it to use any free port"
        )
    }
}

impl std::error::Error for Taken {}
