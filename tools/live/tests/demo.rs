//! Short real runs: a real server, real processes, real HTTP.

mod common;

use common::{demo_json, end, number, outcome, tidegate_live};

#[test]
fn adaptive_is_throttled_less_than_none_and_neither_loses_a_call() {
    let document = demo_json(&["--seconds", "4"]);
    let runs = document["runs"].as_array().expect("runs is a list");
    assert_eq!(runs.len(), 2, "the default comparison includes adaptive");
    for (run, law) in runs.iter().zip(["none", "adaptive"]) {
        assert_eq!(run["law"], law);
        for share in ["utilisation", "throttled", "settled", "jain"] {
            assert!((0.0..=1.0).contains(&number(run, share)), "{share} is a share in {run}");
        }
        assert!(number(run, "served") <= number(run, "capacity"), "{run}");
        assert!(number(run, "wait_p50_ms") <= number(run, "wait_p99_ms"), "{run}");
        assert!(number(run, "calls") > 0.0);
        assert_eq!(number(run, "lost"), 0.0, "{run}");
        assert_eq!(run["processes"].as_array().map(Vec::len), Some(4), "{run}");
    }
    let (none, adaptive) = (number(&runs[0], "throttled"), number(&runs[1], "throttled"));
    assert!(none >= 0.5, "none: {none}");
    assert!(adaptive < none / 2.0, "adaptive: {adaptive}, none: {none}");
    assert!(number(&runs[0], "utilisation") > 0.8, "a server without client limits is busy");
    assert!(number(&runs[1], "utilisation") > 0.3, "adaptive uses the limit");
}

#[test]
fn every_call_of_every_process_is_counted_under_each_policy() {
    for policy in [
        &["--limit", "20", "--hints", "openai"][..],
        &["--policy", "window", "--limit", "30", "--hints", "ietf"],
        &["--policy", "window", "--limit", "30", "--hints", "github"],
        &["--policy", "concurrency", "--hints", "retry-after"],
        &["--limit", "20", "--hints", "aws"],
    ] {
        let args =
            [&["--seconds", "2", "--processes", "2", "--workers", "8", "--law", "backoff"], policy];
        let document = demo_json(&args.concat());
        let run = &document["runs"][0];
        assert_eq!(number(run, "lost"), 0.0, "{policy:?}: {run}");
        assert_eq!(number(run, "ignored"), 0.0, "every header is understood, {policy:?}: {run}");
        assert!(number(run, "served") > 0.0 && number(run, "throttled") > 0.0, "{policy:?}: {run}");
        for row in run["processes"].as_array().unwrap() {
            let parts = ["served", "throttled", "outage"].map(|part| number(row, part));
            assert_eq!(parts.iter().sum::<f64>(), number(row, "offered"), "{policy:?}: {row}");
        }
    }
}

#[test]
fn an_outage_delays_calls_and_loses_none() {
    for law in ["none", "adaptive", "aimd"] {
        let document = demo_json(&["--seconds", "4", "--law", law, "--outage", "1s..2s"]);
        let run = &document["runs"][0];
        assert!(number(run, "outage") > 0.0, "calls met the outage: {run}");
        assert!(number(run, "served") > 0.0, "{run}");
        assert_eq!(number(run, "lost"), 0.0, "{run}");
    }
}

#[test]
fn a_fleet_with_a_shared_budget_uses_it_evenly_and_loses_no_call() {
    let args = ["--share", "--seconds", "6", "--law", "adaptive", "--outage", "2s..3s"];
    let document = demo_json(&args);
    let run = &document["runs"][0];
    assert_eq!(number(run, "lost"), 0.0, "{run}");
    assert!(number(run, "outage") > 0.0 && number(run, "utilisation") > 0.2, "{run}");
    assert!(number(run, "jain") > 0.9, "{run}");
    for row in run["processes"].as_array().unwrap() {
        assert!(number(row, "served") > 0.0, "{row}");
    }
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let mut child =
        tidegate_live(&["demo", "--seconds", "1", "--law", "fixed"]).spawn().expect("it starts");
    drop(child.stdout.take());
    let output = end(child);
    assert!(output.status.success(), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
}

#[test]
fn without_a_terminal_progress_is_lines_of_text_and_the_report_is_a_table() {
    let output = outcome(&["demo", "--seconds", "2", "--law", "fixed", "--processes", "2"]);
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(!text.contains('\u{1b}'), "no escape sequences: {text:?}");
    assert!(
        text.lines().any(|line| line.starts_with("fixed") && line.contains("offered")),
        "{text}"
    );
    for column in
        ["utilisation", "settled", "throttled", "jain", "wait p50", "wait p99", "calls", "lost"]
    {
        assert!(text.contains(column), "{column} is not in {text}");
    }
    assert!(!text.contains("decided by"), "fixed has no basis: {text}");
}

#[test]
fn the_report_shows_the_basis_of_adaptive() {
    let api = ["--policy", "window", "--limit", "20", "--period", "1s", "--hints", "ietf"];
    let args = [&["demo", "--seconds", "4", "--law", "adaptive"], &api[..]].concat();
    let text = String::from_utf8(outcome(&args).stdout).unwrap();
    let (_, line) = text.split_once("\nadaptive decided by  calls left ").expect(&text);
    let (left, rest) = line.split_once(" %, nothing ").expect(&text);
    let (nothing, _) = rest.split_once(" %\n").expect(&text);
    let shares = [left, nothing].map(|share| share.parse::<u32>().expect(&text));
    assert!((99..=101).contains(&(shares[0] + shares[1])), "{text}");
    assert!(text.contains("20 calls per window of 1s, hints ietf"), "{text}");
}
