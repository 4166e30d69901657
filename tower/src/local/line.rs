//! A connection to the process that holds the budgets.

use std::pin::pin;
use std::time::{Duration, Instant};

use tokio::io::{AsyncWriteExt, BufReader};
use tokio::sync::Mutex;

use super::LocalError;
use super::frames::{self, GREETING, NO_REQUEST, STRANGER, TROUBLE, Why};
use super::place::Number;
use super::standing::Told;
use super::system::Stream;

/// A process that does not answer for this long counts as frozen, unless this one was busy itself: its timer was later
/// than the second value.
const PATIENCE: Duration = Duration::from_millis(400);
const LATE: Duration = Duration::from_millis(20);

/// See the module's documentation. Dropping it closes the connection.
pub(super) struct Line {
    /// The inode of the socket to which this is connected.
    pub(super) to: Number,
    /// The policy of that process.
    pub(super) policy: Told,
    /// `None` once it has ended. A request has it until the answer has arrived.
    stream: Mutex<Option<BufReader<Stream>>>,
}

impl Line {
    /// Waits until that process has greeted and told its policy.
    pub(super) async fn open(stream: Stream, to: Number) -> Result<Self, Why> {
        let mut stream = BufReader::new(stream);
        let greeted = async {
            stream.write_all(&GREETING).await?;
            frames::greeted(&mut stream).await?;
            frames::read(&mut stream, false).await
        };
        let policy = frames::told(&in_time(greeted).await?.body);
        let policy = policy.ok_or_else(|| LocalError::new(STRANGER))?;
        Ok(Self { to, policy, stream: Mutex::new(Some(stream)) })
    }

    pub(super) fn is_open(&self) -> bool {
        self.stream.try_lock().map_or(true, |stream| stream.is_some())
    }

    /// Sends a request for a key and returns the grant. `by` asks that process to leave the seat to one with this
    /// policy. If it does, it ends the connection.
    pub(super) async fn ask(
        &self,
        key: &str,
        request: &[u8],
        by: Option<Told>,
    ) -> Result<Vec<u8>, Why> {
        let by = by.map(|by| frames::request(NO_REQUEST, "", &frames::policy(&by))).transpose()?;
        let request = [by.unwrap_or_default(), frames::request(1, key, request)?].concat();
        let mut kept = self.stream.lock().await;
        // If this request is given up, the connection ends with it.
        let mut stream = kept.take().ok_or(Why::Ended)?;
        let exchange = async {
            stream.write_all(&request).await?;
            frames::read(&mut stream, false).await
        };
        let answer = in_time(exchange).await?;
        *kept = Some(stream);
        if answer.kind != TROUBLE {
            return Ok(answer.body);
        }
        let why = String::from_utf8_lossy(&answer.body);
        Err(LocalError::new(format!("the process that holds the budget says: {why}")).into())
    }
}

/// [`Why::Silent`] if the process does not answer in time.
async fn in_time<T>(answer: impl Future<Output = Result<T, Why>>) -> Result<T, Why> {
    let mut answer = pin!(answer);
    for _ in 0..2 {
        let asked = Instant::now();
        if let Ok(answer) = tokio::time::timeout(PATIENCE, &mut answer).await {
            return answer;
        }
        if asked.elapsed() <= PATIENCE + LATE {
            break;
        }
    }
    Err(Why::Silent)
}
