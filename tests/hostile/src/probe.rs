//! Every response of the corpus over a real connection, each to a client that knows nothing yet.

use std::net::SocketAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Result, ensure};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::{Request, Response, body::Incoming};
use hyper_util::rt::TokioIo;
use tidegate::signal::http::Reading;
use tidegate::{Ask, Controller, Decision, Instant, Outcome, Policy, Reply, Span, Verdict};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::{MOODS, Server, corpus};

/// No answer of the corpus is longer, and none takes longer.
const LONGEST: usize = 1 << 10;
const PATIENCE: Duration = Duration::from_secs(10);

/// The longest that an answer may keep a client back: a refusal two hours (one of the pause, one that
/// spreads a fleet), and a period that the server tells of a day and a quarter.
const MOST_REFUSED: Span = Span::from_secs(7_200);
const MOST_SERVED: Span = Span::from_secs(108_000);

/// What became of the responses.
#[derive(Clone, Copy, Debug, Default)]
pub struct Probed {
    /// How many there were.
    pub responses: u64,
    /// Those that the client's HTTP parser took.
    pub read: u64,
    /// Those that it refused, for the bytes that they hold.
    pub refused: u64,
    /// The longest wait that one of them led to.
    pub longest: Span,
}

/// Sends every response of the corpus to clients of each of these laws.
///
/// # Errors
/// A sentence that says which response broke what.
pub async fn probe(laws: &[&str]) -> Result<Probed> {
    let responses = corpus::responses()?;
    let count = responses.len();
    let server = Server::open(MOODS[0], responses).await?;
    let mut probed = Probed::default();
    for number in 0..count {
        let told = timeout(PATIENCE, fetch(server.address(), number)).await;
        ensure!(told.is_ok(), "response {number} of the corpus does not end");
        probed.responses += 1;
        let Ok(Ok(response)) = told else {
            probed.refused += 1;
            continue;
        };
        probed.read += 1;
        let reply: Reply = reading(&response).finish(Some(since_1970())).into();
        for law in laws {
            let wait = wait_after(law, reply)?;
            let most = if reply.outcome.is_pushback() { MOST_REFUSED } else { MOST_SERVED };
            ensure!(
                wait <= most,
                "response {number} of the corpus keeps a client of {law} back for {} s: {reply:?}",
                wait.as_secs()
            );
            probed.longest = probed.longest.max(wait);
        }
    }
    // A probe that reads nothing, whatever the reason, has tried nothing.
    ensure!(
        probed.read > probed.responses / 4,
        "only {} of {count} responses of the corpus were read",
        probed.read
    );
    Ok(probed)
}

/// One call on a connection of its own.
async fn fetch(address: SocketAddr, number: usize) -> Result<Response<()>> {
    let stream = TcpStream::connect(address).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let driver = tokio::spawn(connection);
    let request = Request::get(format!("/corpus/{number}")).header("host", "127.0.0.1");
    let response: Response<Incoming> =
        sender.send_request(request.body(Empty::<Bytes>::new())?).await?;
    let (head, body) = response.into_parts();
    let whole = Limited::new(body, LONGEST).collect().await;
    driver.abort();
    ensure!(whole.is_ok(), "the body was cut");
    Ok(Response::from_parts(head, ()))
}

fn reading(response: &Response<()>) -> Reading {
    let mut reading = Reading::new(response.status().as_u16());
    for (name, value) in response.headers() {
        reading.header(name.as_str(), value.as_bytes());
    }
    reading
}

/// How long a client waits whose first answer this is.
fn wait_after(law: &str, reply: Reply) -> Result<Span> {
    let policy = Policy::named(law).ok_or_else(|| anyhow::anyhow!("there is no law {law}"))?;
    let (start, now) = (Instant::ZERO, Instant::from_nanos(50_000_000));
    let mut gate: Controller = Controller::new(policy, 7, start);
    let Decision::Go(permit) = gate.poll(start, &Ask::new()) else {
        anyhow::bail!("the first call of {law} waits")
    };
    gate.settle(now, permit, reply);
    let ask = match reply.outcome {
        Outcome::Ok => Ask::new(),
        _ => gate.retry(now, &Ask::new(), reply).unwrap_or_default(),
    };
    Ok(match gate.check(now, &ask) {
        Verdict::Go => Span::ZERO,
        Verdict::Wait(until) => until.saturating_since(now),
        other => anyhow::bail!("{law} answers {other:?}"),
    })
}

fn since_1970() -> Span {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Span::from_secs(now.as_secs())
}
