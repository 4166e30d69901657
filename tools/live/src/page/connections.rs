//! Who is connected to the page: so many and no more, and none who stops reading or asking.

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

/// Connections at once; a browser opens six for each of its windows at most.
const MOST: usize = 64;

/// How long a reader may take for a piece of an answer, and for its next question.
const PATIENCE: Duration = Duration::from_secs(10);

/// Serves whoever comes, until it is dropped; all connections end with it.
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
            // It has run out of something that others will give back.
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
    // What went wrong was the reader's doing, and he knows.
    let _ = connection.await;
}
