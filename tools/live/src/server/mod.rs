//! A real HTTP API on loopback that limits its callers and keeps count of them.

mod concurrency;
mod cors;
mod desk;
mod gcra;
mod hints;
mod ledger;
mod limiter;
mod timeline;
mod tokens;
mod window;
mod works;

pub use ledger::Row;
pub use timeline::{Nanos, Timeline, nanos};

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

/// The header in which a client says which process of the fleet it is.
pub const CALLER: &str = "x-client";

/// The header in which a call says how many tokens it takes.
pub const TOKENS: &str = "x-tokens";

/// The header in which a call says what it is for, as calls do that may come twice.
pub const WORK: &str = "idempotency-key";

/// The counts at one moment.
#[derive(Clone, Debug, Serialize)]
pub struct Truth {
    /// By caller, the nameless first.
    pub callers: Vec<Row>,
    /// How many calls could have been served so far.
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

/// A running server. It is stopped with [`Server::stop`]; dropped, it stops as well.
pub struct Server {
    desk: Arc<Desk>,
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    task: JoinHandle<std::io::Result<()>>,
}

impl Server {
    /// Serves `api` on a port of the loopback interface, any free one for port 0.
    pub async fn open(api: &Api, callers: usize) -> Result<Self> {
        let wanted = SocketAddr::from(([127, 0, 0, 1], api.port));
        let listener = TcpListener::bind(wanted).await.map_err(|error| Taken { wanted, error })?;
        let address = listener.local_addr().context("the server has no address")?;
        let desk = Arc::new(Desk::new(api.clone(), callers));
        let (stop, stopped) = oneshot::channel::<()>();
        let serve =
            axum::serve(listener, desk::routes(desk.clone())).with_graceful_shutdown(async {
                // A sender that was dropped means the same as one that spoke.
                let _ = stopped.await;
            });
        Ok(Server { desk, address, stop, task: tokio::spawn(serve.into_future()) })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sets the server's clock to nothing: the bucket is full, the first window begins.
    pub fn begin(&self) {
        self.desk.lock().opened = Instant::now();
    }

    /// How long ago the clock was at nothing.
    pub fn elapsed(&self) -> Duration {
        self.desk.lock().opened.elapsed()
    }

    /// Lets the figures end at `at`; what arrives later is still answered, and counted apart.
    pub fn close_books(&self, at: Duration) {
        self.desk.lock().ledger.close(nanos(at));
    }

    /// The counts up to now, or to closing time.
    pub fn truth(&self) -> Truth {
        self.desk.truth()
    }

    /// Calls served to each caller from first to last, closing time or not.
    pub fn served_in_all(&self) -> Vec<u64> {
        self.desk.lock().ledger.with_late().iter().map(|row| row.served).collect()
    }

    /// Stops listening, waits a moment for the calls still inside and frees the port.
    pub async fn stop(mut self) {
        let _ = self.stop.send(());
        if tokio::time::timeout(Duration::from_secs(2), &mut self.task).await.is_err() {
            self.task.abort();
        }
    }
}

/// The wanted port cannot be had.
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
            "cannot listen on {wanted}: {error}; name another --port, or none for any free one"
        )
    }
}

impl std::error::Error for Taken {}
