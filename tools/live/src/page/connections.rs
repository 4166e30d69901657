//! The page's connections. Their number is limited, and slow or idle readers are disconnected.

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::sleep;
use tokio_io_timeout::TimeoutStream;

/// The maximum number of connections. A browser opens six per window at most.
const MOST: usize = 64;

/// The time limit for sending a part of a response, and for receiving the next request.
const PATIENCE: Duration = Duration::from_secs(10);

/// Accepts connections until it is dropped, which closes all of them.
pub async fn accept(listener: TcpListener, routes: Router) {
    let places = Arc::new(Semaphore::new(MOST));
    let mut connections = JoinSet::new();
    loop {
        let Ok(place) = places.clone().acquire_owned().await else { return };
        while connections.try_join_next().is_some() {}
        match listener.accept().await {
            Ok((stream, _)) => {
                let routes = routes.clone();
                connections.spawn(async move {
                    serve(stream, routes).await;
                    drop(place);
                });
            }
            // A resource such as file descriptors is exhausted and will become available again.
            Err(_) => sleep(Duration::from_millis(100)).await,
        }
    }
}

async fn serve(stream: TcpStream, routes: Router) {
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(PATIENCE));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .serve_connection(TokioIo::new(Box::pin(stream)), TowerToHyperService::new(routes));
    // Errors are caused by the reader.
    let _ = connection.await;
}
