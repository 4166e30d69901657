//! `mqtt`: 120 messages through mosquitto, which accepts few at once and is restarted in the middle.

use std::time::Duration;

use tidegate_boards::{Board, Run, numbers, told};

use crate::cable::Cable;
use crate::mosquitto::Mosquitto;

/// MQTT's port, as the boards see it.
const PORT: u16 = 1883;
const MESSAGES: usize = 120;

/// How many messages mosquitto accepts at once.
const MOST: u16 = 3;
/// When mosquitto is restarted, and how long it is away.
const RESTART_AT: &str = "mqtt: 40 of";
const AWAY: Duration = Duration::from_secs(2);

#[test]
fn no_message_is_lost_when_the_broker_restarts() {
    run(Board::Mps2);
}

#[test]
fn no_message_is_lost_when_the_broker_restarts_on_risc_v() {
    run(Board::Virt);
}

fn run(board: Board) {
    let image = board.build("mqtt");
    let mut broker = Mosquitto::start(&format!("mosquitto-{}", board.machine()), MOST);
    let cable = Cable::new(board, PORT, broker.port);
    // It takes ten to thirty seconds; a busy machine takes longer.
    let limit = Duration::from_secs(120);
    let run = Run { image, options: cable.options(), limit };
    let mut restarted = false;
    let log = run.to_its_end(|line| {
        if line.contains(RESTART_AT) && !restarted {
            restarted = true;
            broker.restart(AWAY);
        }
    });
    assert!(restarted, "the board did not reach the step that restarts mosquitto:\n{log}");
    let connected = told(&log, &format!("mqtt: connected, the broker takes {MOST} "));
    assert!(
        connected.len() >= 2,
        "the board has not connected again, or has not been told that {MOST} may be in flight:\n{log}"
    );
    let end = told(&log, "mqtt: 120 acknowledged");
    let again = numbers(end.first().expect("the board does not say that all are acknowledged"))[2];
    let heard = broker.heard(MESSAGES);
    let missing = (1..=MESSAGES).filter(|number| !heard.contains_key(&number.to_string()));
    let missing: Vec<usize> = missing.collect();
    assert!(missing.is_empty(), "messages are lost: {missing:?}\n{log}");
    let twice: u64 = heard.values().map(|times| times - 1).sum();
    assert!(
        twice <= again,
        "{twice} messages arrived twice, but only {again} had no acknowledgement\n{log}"
    );
}
