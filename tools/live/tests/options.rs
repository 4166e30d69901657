//! Invalid arguments print one sentence and leave nothing behind.

mod common;

use common::outcome;
use std::net::TcpListener;

/// Asserts exit status 2, empty stdout, and one line on stderr that contains all `words`.
fn assert_rejected(args: &[&str], words: &[&str]) {
    let output = outcome(args);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {stderr}");
    assert!(output.stdout.is_empty(), "{args:?} printed something");
    assert_eq!(stderr.lines().count(), 1, "{args:?}: {stderr}");
    for word in words {
        assert!(stderr.contains(word), "{args:?}: {word:?} is not in {stderr:?}");
    }
}

#[test]
fn invalid_arguments_print_one_sentence_and_exit_with_two() {
    for (args, words) in [
        (
            &["--law", "magic"][..],
            &["magic", "none", "backoff", "fixed", "aimd", "autosleeper"][..],
        ),
        (&["--compare", "none,magic"], &["magic", "aimd"]),
        (&["--limit", "0"], &["--limit", "at least 1"]),
        (&["--limit", "-5"], &["--limit", "whole number"]),
        (&["--burst", "0"], &["--burst", "at least 1"]),
        (&["--seconds", "-3"], &["--seconds", "longer than zero"]),
        (&["--seconds", "0"], &["--seconds", "longer than zero"]),
        (&["--seconds", "nan"], &["--seconds", "longer than zero"]),
        (&["--seconds", "1e300"], &["--seconds", "an hour"]),
        (&["--seconds", "soon"], &["--seconds", "number of seconds"]),
        (&["--period", "-1s"], &["--period", "negative"]),
        (&["--period", "0s"], &["--period", "longer than zero"]),
        (&["--period", "5"], &["--period", "unit"]),
        (&["--latency", "2h"], &["--latency", "60s"]),
        (&["--processes", "0"], &["--processes", "1..=64"]),
        (&["--processes", "-1"], &["--processes", "-1"]),
        (&["--workers", "0"], &["--workers", "1..=1000"]),
        (&["--seed", "-1"], &["--seed", "-1"]),
        (&["--seed", "some"], &["--seed", "some"]),
        (&["--hints", "guess"], &["guess", "ietf", "github"]),
        (
            &["--hints", "github", "--policy", "concurrency"],
            &["--hints github", "concurrency", "ietf"],
        ),
        (
            &["--hints", "ietf", "--period", "1500ms"],
            &["--hints ietf", "--period is 1s 500ms", "whole seconds"],
        ),
        (&["--policy", "guess"], &["guess", "gcra", "window", "concurrency"]),
        (&["--outage", "5s"], &["--outage", "4s..6s"]),
        (&["--outage", "6s..4s"], &["--outage", "end after it begins"]),
        (&["--outage", "-1s..4s"], &["--outage", "negative"]),
        (&["--port", "70000"], &["--port", "70000"]),
        (&["--sconds", "3"], &["--sconds"]),
        (&["--page"], &["--page", "cargo xtask demo --page"]),
        (&["--page", "--keep"], &["--page", "--keep"]),
        (&["--keep", "--json"], &["--keep", "--json"]),
        (&["--page-port", "seven"], &["--page-port"]),
    ] {
        assert_rejected(&[&["demo"], args].concat(), words);
    }
}

#[test]
fn a_taken_port_prints_one_sentence_with_the_port_and_a_remedy() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    for args in [
        &["demo", "--port", &port][..],
        &["demo", "--json", "--port", &port],
        &["serve", "--port", &port],
    ] {
        assert_rejected(args, &[&format!("127.0.0.1:{port}"), "--port"]);
    }
}

#[test]
fn help_exits_with_success() {
    for args in [&["--help"][..], &["demo", "--help"], &["serve", "--help"]] {
        let output = outcome(args);
        assert_eq!(output.status.code(), Some(0));
        assert!(output.stderr.is_empty());
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(!text.contains("grace"), "the client's options are hidden: {text}");
    }
}
