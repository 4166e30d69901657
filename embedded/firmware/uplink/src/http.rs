//! One batch, posted over HTTP.

use core::cell::Cell;
use core::fmt::Write;

use board::net::HOST;
use embassy_net::Stack;
use embassy_net::dns::DnsSocket;
use embassy_net::tcp::client::{TcpClient, TcpClientState};
use embassy_sync::blocking_mutex::CriticalSectionMutex;
use embassy_time::{Duration, with_timeout};
use heapless::String;
use reqwless::client::HttpClient;
use reqwless::request::{Method, RequestBuilder};
use tidegate::{Outcome, Reply};
use tidegate_embassy::Replied;

use crate::cooldown;
use crate::queue::Batch;

/// What two connections at once take of memory.
pub type Line = TcpClientState<2, 1024, 1024>;

/// A call that takes longer is lost, whether or not the server has served it.
const PATIENCE: Duration = Duration::from_secs(3);

/// What a head may take: those of real APIs come to more than a kilobyte.
const ROOM: usize = 2_048;

static LOST: CriticalSectionMutex<Cell<u32>> = CriticalSectionMutex::new(Cell::new(0));

/// How many calls have had no answer: the server may have served them.
pub fn lost() -> u32 {
    LOST.lock(Cell::get)
}

/// No answer came.
#[derive(Debug)]
pub struct Lost;

/// What calls are made over.
pub struct Connection {
    tcp: TcpClient<'static, 2, 1024, 1024>,
    names: DnsSocket<'static>,
}

impl Connection {
    /// One of this stack's.
    pub fn new(stack: Stack<'static>, line: &'static Line) -> Self {
        Self { tcp: TcpClient::new(stack, line), names: DnsSocket::new(stack) }
    }

    /// What the server says of a batch, and its status.
    pub async fn post(&mut self, batch: &Batch) -> Result<(Reply, u16), Lost> {
        cooldown::leaving();
        match with_timeout(PATIENCE, self.call(batch)).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(_)) | Err(_) => {
                defmt::warn!("uplink: no answer for batch {=u32}", batch.number);
                LOST.lock(|lost| lost.set(lost.get() + 1));
                Err(Lost)
            }
        }
    }

    async fn call(&mut self, batch: &Batch) -> Result<(Reply, u16), reqwless::Error> {
        let mut url: String<32> = String::new();
        let mut key: String<10> = String::new();
        let mut body: String<160> = String::new();
        let Batch { number, at, celsius } = batch;
        let fits = write!(url, "http://{HOST}/").is_ok()
            && write!(key, "{number}").is_ok()
            && write!(body, r#"{{"batch":{number},"ms":{at},"celsius":{celsius:?}}}"#).is_ok();
        defmt::assert!(fits, "a batch is longer than its room");

        let mut room = [0; ROOM];
        let mut client = HttpClient::new(&self.tcp, &self.names);
        // By it the server can tell that it has served a batch already.
        let headers = [("Idempotency-Key", key.as_str())];
        let request = client.request(Method::POST, &url).await?;
        let mut request = request.headers(&headers).body(body.as_bytes());
        let response = request.send(&mut room).await?;
        let status = response.status.0;
        let reply: Reply = response.reply();
        response.body().read_to_end().await?;
        // Only now, as the throttle learns of it: another call may have been sent while this one was read.
        if reply.outcome != Outcome::Ok
            && let Some(cooldown) = reply.hints[0].retry_after
        {
            cooldown::asked(Duration::from_micros(cooldown.as_nanos() / 1_000));
        }
        Ok((reply, status))
    }
}
