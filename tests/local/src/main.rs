//! A Rust process of a fleet with a shared budget. `wasm/test/fleet-member.mjs` is the same in
//! Node. It is controlled by lines of JSON, and reports when each call begins, is sent and ends.

use std::cell::Cell;
use std::io::Write;
use std::rc::Rc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tidegate_tower::Gate;
use tidegate_tower::local::Share;
use tidegate_tower::tidegate::law::Fixed;
use tidegate_tower::tidegate::{Policy, Quota, Span};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::task::LocalSet;

const KEY: &str = "api";

struct Member {
    number: u64,
    url: String,
    gate: Gate,
    client: reqwest::Client,
    turn: Cell<u64>,
    ending: Cell<bool>,
    closed: Cell<bool>,
}

fn main() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let done = LocalSet::new().block_on(&runtime, run());
    // The runtime may still block on a read that never completes.
    runtime.shutdown_background();
    done
}

async fn run() -> Result<()> {
    let told: Value = serde_json::from_str(&std::env::var("TIDEGATE_ISOLATE")?)?;
    let text = |name: &str| told[name].as_str().with_context(|| name.to_owned());
    let folder = text("folder")?;
    let builder = match told["policy"]["law"].as_str() {
        Some("fixed") => {
            let requests = &told["policy"]["requests"];
            let limit = requests["limit"].as_u64().context("limit")?;
            let per = Span::from_millis(requests["per"].as_u64().context("per")?);
            Gate::builder(Policy::new(Fixed::new(Quota::per(limit, per)?)))
        }
        _ => Gate::builder(Policy::adaptive()),
    };
    let member = Rc::new(Member {
        number: told["member"].as_u64().context("member")?,
        url: text("url")?.to_owned(),
        gate: builder.share(Share::new("default").folder(folder))?.build(),
        client: reqwest::Client::new(),
        turn: Cell::new(0),
        ending: Cell::new(false),
        closed: Cell::new(false),
    });
    tokio::task::spawn_local(stats(member.clone()));
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        let what: Value = serde_json::from_str(&line)?;
        for _ in 0..what["callers"].as_u64().unwrap_or(0) {
            tokio::task::spawn_local(calls(member.clone()));
        }
        let close = what["close"].as_bool().unwrap_or(false);
        member.ending.set(member.ending.get() || close || what["end"].as_bool().unwrap_or(false));
        if close {
            member.closed.set(true);
            member.gate.close().await;
            break;
        }
    }
    Ok(())
}

/// Makes one call after the other.
async fn calls(member: Rc<Member>) {
    while !member.ending.get() {
        let turn = member.turn.replace(member.turn.get() + 1);
        let name = format!("{}-{}-{turn}", member.number, std::process::id());
        tell(&json!({ "began": name }));
        let send = || {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            tell(&json!({ "left": now.as_millis() as u64 }));
            member.client.get(&member.url).header("idempotency-key", &name).send()
        };
        let body = match member.gate.key(KEY).run(send).await {
            Ok(Ok(response)) => response.text().await.unwrap_or_else(|error| error.to_string()),
            Ok(Err(error)) => error.to_string(),
            Err(error) => error.to_string(),
        };
        let otherwise = if member.closed.get() { "closed" } else { "lost" };
        let ended = if body == "served\n" { "served" } else { otherwise };
        tell(&json!({ "name": name, "ended": ended, "why": body }));
    }
}

/// Reports the counts every 50 ms.
async fn stats(member: Rc<Member>) {
    loop {
        let stats = member.gate.stats();
        let of = stats.sharing;
        let told = json!({
            "admitted": stats.counts.admitted, "delayed": of.delayed, "without": of.without,
            "alone": of.alone, "asked": of.asked, "missed": of.missed, "inHand": of.available_leases,
        });
        tell(&json!({ "stats": told, "holds": member.gate.budget(KEY).is_some() }));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Writes a line. The process exits if the line cannot be written.
fn tell(what: &Value) {
    let line = format!("{what}\n");
    let mut out = std::io::stdout().lock();
    if out.write_all(line.as_bytes()).and_then(|()| out.flush()).is_err() {
        std::process::exit(1);
    }
}
