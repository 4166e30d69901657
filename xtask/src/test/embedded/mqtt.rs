//! `mqtt`: 120 messages through mosquitto, which accepts few at once and is restarted in the
//! middle; and through a broker that sends codes that mosquitto never does.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use super::broker::{AT_ONCE, Broker};
use super::cable::Cable;
use super::mosquitto::Mosquitto;
use crate::firmware::{Board, Run, numbers, told};

/// It takes ten to thirty seconds; a busy machine takes longer.
const LIMIT: Duration = Duration::from_secs(120);
/// MQTT's port, as the boards see it.
const PORT: u16 = 1883;
const MESSAGES: usize = 120;

/// How many messages mosquitto accepts at once.
const MOST: u16 = 3;
/// When mosquitto is restarted, and how long it is away.
const RESTART_AT: &str = "mqtt: 40 of";
const AWAY: Duration = Duration::from_secs(2);

/// With mosquitto. Returns the figures.
pub fn mosquitto(board: Board, folder: &Path) -> Result<String> {
    let mut broker = Mosquitto::start(&format!("mosquitto-{}", board.name()), MOST)?;
    let cable = Cable::new(board, PORT, broker.port);
    let options = cable.options()?;
    let run = Run { name: "mqtt, mosquitto", board, folder, image: "mqtt", options, limit: LIMIT };
    let mut restarted = None;
    let log = run.to_its_end(|line| {
        if line.contains(RESTART_AT) {
            restarted.get_or_insert_with(|| broker.restart(AWAY));
        }
    })?;
    restarted.context("the board did not reach the step that restarts mosquitto")??;
    through_mosquitto(&log, &broker).with_context(|| format!("the log:\n{log}"))
}

fn through_mosquitto(log: &str, broker: &Mosquitto) -> Result<String> {
    let told_most = format!("mqtt: connected, the broker takes {MOST} ");
    ensure!(
        told(log, &told_most).len() >= 2,
        "the board has not connected again, or has not been told that {MOST} may be in flight"
    );
    let again = sent_again(log)?;
    let heard = broker.heard(MESSAGES)?;
    let missing = (1..=MESSAGES).filter(|number| !heard.contains_key(&number.to_string()));
    let missing: Vec<usize> = missing.collect();
    ensure!(missing.is_empty(), "messages are lost: {missing:?}");
    let twice: u64 = heard.values().map(|times| times - 1).sum();
    ensure!(
        twice <= again,
        "{twice} messages arrived twice, but only {again} had no acknowledgement"
    );
    Ok(format!("{MESSAGES} messages, {twice} of them twice"))
}

/// With the small broker. Returns the figures.
pub fn reasons(board: Board, folder: &Path) -> Result<String> {
    let broker = Broker::start()?;
    // Kept to the end: dropping it removes QEMU's socket.
    let cable = Cable::new(board, PORT, broker.port);
    let options = cable.options()?;
    let (name, image) = ("mqtt, rare reason codes", "mqtt");
    let run = Run { name, board, folder, image, options, limit: LIMIT };
    let log = run.to_its_end(|_| ())?;
    through_reasons(&log, &broker).with_context(|| format!("the log:\n{log}"))
}

fn through_reasons(log: &str, broker: &Broker) -> Result<String> {
    let seen = broker.seen();
    let again = sent_again(log)?;
    ensure!(seen.accepted.len() == MESSAGES, "{} messages have come", seen.accepted.len());
    ensure!(u64::from(seen.twice) <= again, "{} messages were sent twice for nothing", seen.twice);
    ensure!(
        seen.most_at_once <= AT_ONCE,
        "{} messages were in flight, where {AT_ONCE} may be",
        seen.most_at_once
    );
    ensure!(seen.over_quota > 0, "the broker never said 0x97: the run shows nothing");
    ensure!(seen.pings > 0, "the board has not pinged within the broker's keep-alive");
    let connections = line(log, "mqtt: connections ")?;
    let [tried, throttled, busy, _failed] = connections[..] else {
        bail!("unexpected count of connections on the board: {connections:?}");
    };
    ensure!(
        seen.connections as u64 == tried,
        "{tried} connections tried, {} seen",
        seen.connections
    );
    ensure!((throttled, busy) == (1, 1), "0x9F and 0x89 were taken for {throttled} and {busy}");
    let messages = line(log, "mqtt: messages ")?;
    ensure!(
        messages.get(1) == Some(&u64::from(seen.over_quota)),
        "the broker has said 0x97 {} times, and the board has counted {messages:?}",
        seen.over_quota
    );
    Ok(format!("{MESSAGES} messages, {} of them twice, 0x97 {} times", seen.twice, seen.over_quota))
}

fn sent_again(log: &str) -> Result<u64> {
    let end = line(log, "mqtt: 120 acknowledged")?;
    end.get(2).copied().context("the board does not say how many messages it has sent again")
}

/// The numbers of the line that begins with `what`.
fn line(log: &str, what: &str) -> Result<Vec<u64>> {
    numbers(told(log, what).first().with_context(|| format!("the board does not say `{what}…`"))?)
}
