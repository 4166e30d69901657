//! Posts one batch over HTTP.

use core::fmt::Write;

use board::net::HOST;
use embassy_net::Stack;
use embassy_net::dns::DnsSocket;
use embassy_net::tcp::client::{TcpClient, TcpClientState};
use embassy_time::{Duration, Instant, with_timeout};
use heapless::String;
use reqwless::client::HttpClient;
use reqwless::request::{Method, RequestBuilder};
use tidegate::{Outcome, Reply};
use tidegate_embassy::Replied;

use crate::Batch;
use crate::counts::count;

/// The memory of two connections.
pub type Line = TcpClientState<2, 1024, 1024>;

/// A call that takes longer is lost, whether or not the server served it.
const PATIENCE: Duration = Duration::from_secs(3);

/// The size of the buffer for response headers. Those of real APIs exceed a kilobyte.
const ROOM: usize = 2_048;

/// No response arrived.
#[derive(Debug)]
pub struct Lost;

pub struct Connection {
    tcp: TcpClient<'static, 2, 1024, 1024>,
    names: DnsSocket<'static>,
}

impl Connection {
    pub fn new(stack: Stack<'static>, line: &'static Line) -> Self {
        Self { tcp: TcpClient::new(stack, line), names: DnsSocket::new(stack) }
    }

    /// Posts a batch. Returns the reply and its status.
    pub async fn post(&mut self, batch: &Batch) -> Result<(Reply, u16), Lost> {
        count(|counts| {
            if Instant::now() < counts.quiet {
                counts.early += 1;
                defmt::error!("batch {=u32} was sent during a cooldown", batch.number);
            }
        });
        match with_timeout(PATIENCE, self.call(batch)).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(_)) | Err(_) => {
                defmt::warn!("uplink: no answer for batch {=u32}", batch.number);
                count(|counts| counts.lost += 1);
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
        defmt::assert!(fits, "a batch exceeds its buffer");

        let mut room = [0; ROOM];
        let mut client = HttpClient::new(&self.tcp, &self.names);
        // The server recognises a repeated batch by this key.
        let headers = [("Idempotency-Key", key.as_str())];
        let request = client.request(Method::POST, &url).await?;
        let mut request = request.headers(&headers).body(body.as_bytes());
        let response = request.send(&mut room).await?;
        let status = response.status.0;
        let reply: Reply = response.reply();
        response.body().read_to_end().await?;
        // Recorded when the throttle learns of it, because another call may have been sent while
        // this response was read.
        if reply.outcome != Outcome::Ok
            && let Some(cooldown) = reply.hints[0].retry_after
        {
            let end = Instant::now() + Duration::from_micros(cooldown.as_nanos() / 1_000);
            count(|counts| counts.quiet = counts.quiet.max(end));
        }
        Ok((reply, status))
    }
}
