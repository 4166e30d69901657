//! The images of embedded/firmware on emulated boards. They mostly wait, so all can run at a time.

mod cable;
mod mosquitto;
mod mqtt;
mod uplink;

use std::fs;
use std::time::Duration;

use tidegate_boards::{Board, Run, root, told};

/// An image that checks itself: its exit code is the result.
fn checks_itself(board: Board, image: &'static str, options: &[&str]) {
    let options = options.iter().map(ToString::to_string).collect();
    let limit = Duration::from_secs(120);
    Run { image: board.build(image), options, limit }.to_its_end(|_| ());
}

#[test]
fn a_device_sleeps_between_its_calls() {
    // Every instruction takes 32 nanoseconds; while the machine sleeps, its clock jumps to the next alarm.
    checks_itself(Board::Mps2, "deep-sleep", &["-icount", "shift=5,sleep=off"]);
}

#[test]
fn a_device_sleeps_between_its_calls_on_risc_v() {
    // QEMU's clock may stop for good if the machine is reset while it jumps.
    checks_itself(Board::Virt, "deep-sleep", &[]);
}

#[test]
fn the_longest_lock_is_short_on_the_smallest_board() {
    // Every instruction takes a nanosecond of virtual time, independent of the host.
    checks_itself(Board::Microbit, "lock", &["-icount", "shift=0"]);
}

/// Replays the vectors. The image reads them from a file of this machine, line by line.
fn conforms(board: Board) {
    let mut vectors = String::new();
    for entry in fs::read_dir(root().join("tests/vectors")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            vectors += &fs::read_to_string(path).unwrap();
        }
    }
    // In one file, because a board has no folders. Its name is the image's argument.
    let file = root().join("target").join(format!("vectors-{}.jsonl", board.machine()));
    fs::write(&file, &vectors).unwrap();
    let named = format!("enable=on,target=native,arg=conformance,arg={}", file.display());
    let mut options = vec!["-semihosting-config".to_owned(), named];
    if board == Board::Microbit {
        // The chip exists with 16 KiB and with 32 KiB; a vector takes more than half of the smaller
        // one.
        options.extend(["-global".to_owned(), "nrf51-soc.sram-size=32768".to_owned()]);
    }
    // A board needs some seconds on an idle machine.
    let limit = Duration::from_secs(600);
    let log = Run { image: board.build("conformance"), options, limit }.to_its_end(|_| ());
    let sum = tidegate_boards::numbers(told(&log, "all ").last().expect("no sum"));
    let &[played, _, differences, skipped] = &sum[..] else { panic!("an unexpected sum: {sum:?}") };
    assert_eq!(differences, 0, "{log}");
    assert_eq!(played + skipped, vectors.lines().count() as u64);
    assert!(skipped < played / 20, "{skipped} vectors do not fit");
}

#[test]
fn the_vectors_are_reproduced_on_cortex_m0() {
    conforms(Board::Microbit);
}

#[test]
fn the_vectors_are_reproduced_on_cortex_m4f() {
    conforms(Board::Mps2);
}

#[test]
fn the_vectors_are_reproduced_on_risc_v() {
    conforms(Board::Virt);
}
