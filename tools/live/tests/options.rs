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
    for case in include_str!("options.txt").lines() {
        let (args, words) = case.split_once(": ").unwrap();
        let args: Vec<&str> = ["demo"].into_iter().chain(args.split(' ')).collect();
        assert_rejected(&args, &words.split(" | ").collect::<Vec<_>>());
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
