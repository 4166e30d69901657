//! The API alone, as a user of curl sees it.

mod common;

use common::{Program, answer, tidegate_live};
use std::io::{BufRead, BufReader};

struct Api(Program, String);

impl Api {
    fn start(args: &[&str]) -> Self {
        Self::start_as(&[&["serve"], args].concat())
    }

    fn start_as(args: &[&str]) -> Self {
        let mut child = tidegate_live(args).spawn().unwrap();
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        child.stdout = Some(output.into_inner());
        let address = line.split(['/', ' ']).nth(2).expect("it prints its address").to_owned();
        Api(Program(Some(child)), address)
    }

    fn get(&self, path: &str) -> String {
        self.call(&format!("GET {path}"), "")
    }

    fn call(&self, request: &str, headers: &str) -> String {
        let answer = answer(&self.1, request, &format!("Host: api\r\n{headers}"));
        String::from_utf8(answer).unwrap()
    }
}

#[test]
fn a_window_reports_the_remaining_calls_and_when_to_retry() {
    let window = ["--policy", "window", "--limit", "2", "--period", "1h"];
    let mut api = Api::start(&[&window[..], &["--hints", "discord"]].concat());
    for remaining in ["1", "0"] {
        let answer = api.get("/");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(answer.contains("x-ratelimit-limit: 2\r\n"), "{answer}");
        assert!(answer.contains(&format!("x-ratelimit-remaining: {remaining}\r\n")), "{answer}");
        assert!(!answer.contains("\nretry-after"), "{answer}");
    }
    let answer = api.get("/");
    assert!(answer.starts_with("HTTP/1.1 429"), "{answer}");
    assert!(answer.contains("retry-after: 3"), "most of the hour remains: {answer}");
    let counts = api.get("/counts");
    assert!(counts.contains(r#""offered":3,"served":2,"throttled":1"#), "{counts}");
    let output = api.0.interrupt();
    assert_eq!(output.status.code(), Some(0), "it exits with success on a signal");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("offered 3, served 2 of 2 possible, throttled 1"), "{text}");
}

#[test]
fn a_repeated_call_is_counted_twice_under_its_key() {
    let api = Api::start(&["--limit", "3", "--period", "1h", "--burst", "3"]);
    for key in ["one", "two", "two", "three"] {
        api.call("GET /", &format!("Idempotency-Key: {key}\r\n"));
    }
    let counts = api.get("/counts");
    // The last call was throttled, so no work was done.
    let works = r#""works":{"one":{"served":1,"delivered":1},"two":{"served":2,"delivered":2}}"#;
    assert!(counts.contains(works), "{counts}");
}

#[test]
fn a_server_like_a_provider_answers_as_it_does_and_counts() {
    let api = Api::start_as(&["like", "Shopify REST"]);
    let answer = api.get("/calls/7");
    assert!(answer.contains("x-shopify-shop-api-call-limit: 1/40\r\n"), "{answer}");
    let counts = api.get("/counts");
    assert!(counts.contains(r#""offered":1,"throttled":0,"twice":0"#), "{counts}");
}

#[test]
fn during_an_outage_every_call_gets_503() {
    let api = Api::start(&["--outage", "0s..1h"]);
    assert!(api.get("/").starts_with("HTTP/1.1 503"));
}

#[test]
fn only_pages_of_this_machine_can_read_the_hints() {
    let api = Api::start(&["--hints", "ietf"]);
    let request = |method: &str, origin: &str| {
        let wants =
            "Access-Control-Request-Method: GET\r\nAccess-Control-Request-Headers: x-client\r\n";
        api.call(&format!("{method} /"), &format!("Origin: {origin}\r\n{wants}"))
    };
    let (here, foreign) = ("http://127.0.0.1:8433", "https://example.org");
    let preflight = request("OPTIONS", here);
    assert!(preflight.starts_with("HTTP/1.1 200"), "{preflight}");
    assert!(preflight.contains("access-control-allow-headers: x-client\r\n"), "{preflight}");
    let answer = request("GET", here);
    assert!(answer.contains(&format!("access-control-allow-origin: {here}\r\n")), "{answer}");
    assert!(answer.contains("access-control-expose-headers: *\r\n"), "{answer}");
    assert!(!request("GET", foreign).contains("access-control-allow-origin"));
    assert!(!request("OPTIONS", foreign).contains("access-control-allow-origin"));
    let counts = api.get("/counts");
    assert!(counts.contains(r#""offered":2"#), "a preflight is not counted: {counts}");
}
