//! Calls that always fail beside calls that the server serves.

use std::cell::RefCell;
use std::time::Duration;

use futures_util::future::join_all;
use tidegate_tower::tidegate::{Outcome, Policy};
use tidegate_tower::{Gate, SendThrough};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep};

/// Calls are made this often, each with five seconds.
const GAP: Duration = Duration::from_millis(20);

const TIMEOUT: Duration = Duration::from_secs(5);

/// The response of OpenAI to a request with more tokens than its quota has, which is served at no time.
const TOO_LARGE: (&str, &str) = (
    "content-type: application/json\r\n\
     x-ratelimit-limit-tokens: 30000\r\n\
     x-ratelimit-remaining-tokens: 29000\r\n\
     x-ratelimit-reset-tokens: 2s\r\n",
    r#"{"error":{"message":"Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 45000.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}"#,
);

/// Answers each request with the status that is its path, `/429/large` like OpenAI, and resets the
/// connection of `/reset`.
async fn start_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream));
        }
    });
    url
}

/// A connection that is closed before its request was read is reset.
async fn answer(mut stream: TcpStream) -> Option<()> {
    let mut head = [0; 1_024];
    loop {
        let length = stream.peek(&mut head).await.ok().filter(|length| *length > 0)?;
        let path = str::from_utf8(&head[..length]).ok()?.split(' ').nth(1)?;
        let status = path.get(1..4)?.parse::<u16>().ok()?;
        let (headers, body) = if path.ends_with("large") { TOO_LARGE } else { ("", "") };
        let response =
            format!("HTTP/1.1 {status} X\r\n{headers}content-length: {}\r\n\r\n{body}", body.len());
        stream.read_exact(&mut head[..length]).await.ok()?;
        stream.write_all(response.as_bytes()).await.ok()?;
    }
}

/// Makes 200 calls, of which one in `one_in` is `bad`. Returns the percentage of the others that are
/// served in time.
async fn served(bad: &str, one_in: u32) -> f64 {
    let (url, client, gate) = (start_server().await, reqwest::Client::new(), Gate::adaptive());
    let (client, gate) = (&client, &gate);
    let calls = (0..200).map(|number| {
        let is_bad = number % one_in == one_in / 2;
        let url = format!("{url}/{}", if is_bad { bad } else { "200" });
        async move {
            sleep(GAP * number).await;
            let sent = client.get(url).send_through(gate.with_timeout(TIMEOUT)).await;
            (!is_bad).then(|| sent.is_ok_and(|response| response.status() == 200))
        }
    });
    let good: Vec<bool> = join_all(calls).await.into_iter().flatten().collect();
    good.iter().map(|served| f64::from(u8::from(*served) * 100)).sum::<f64>() / good.len() as f64
}

#[tokio::test(start_paused = true)]
async fn calls_that_always_fail_stop_no_other_call() {
    let cases = [
        ("500", 10),
        ("503", 10),
        ("reset", 10),
        ("429", 10),
        ("429", 50),
        ("429", 200),
        ("429/large", 10),
    ];
    // The clock moves only while every task waits, so that a busy machine delays no call.
    for (bad, one_in) in cases {
        let share = served(bad, one_in).await;
        assert!(share >= 99.0, "{share:.1} % served beside {bad} for one in {one_in}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_outage_costs_few_calls() {
    const GATES: u64 = 20;
    for outcome in [Outcome::Failed, Outcome::Busy] {
        let mut early = 0;
        for seed in 0..GATES {
            let gate = Gate::builder(Policy::adaptive()).seed(seed).build();
            let (begun, sent) = (Instant::now(), RefCell::new(Vec::new()));
            join_all((0..500).map(async |number| {
                sleep(GAP * number).await;
                let send = || {
                    sent.borrow_mut().push(begun.elapsed());
                    async move { outcome }
                };
                let _ = gate.with_timeout(TIMEOUT).idempotent().run(send).await;
            }))
            .await;
            early += sent.borrow().iter().filter(|at| **at < Duration::from_secs(10)).count();
        }
        assert!(early <= 22 * GATES as usize, "{early} sent by {GATES} gates, {outcome:?}");
    }
}
