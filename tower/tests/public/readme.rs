//! The README starts with the example `start`, and that example works.

use std::process::Command;

use crate::common::{Limit, Server};

#[test]
fn the_readme_starts_with_the_example() {
    let readme = include_str!("../../README.md");
    let (_, block) = readme.split_once("```rust,no_run\n").unwrap();
    let (code, _) = block.split_once("```").unwrap();
    assert_eq!(code, include_str!("../../examples/start.rs"));
}

#[tokio::test]
async fn the_example_gets_pages_from_a_real_server() {
    let server = Server::start(Limit::per_second(20, 1)).await;
    let urls = ["/throttled-once", "/a", "/b"].map(|path| server.url(path));
    // It was built with the tests, unless only this test was requested.
    let mut example = Command::new(env!("CARGO"));
    example.args(["run", "--quiet", "--all-features", "--package", "tidegate-tower"]);
    example.args(["--example", "start", "--"]).args(&urls);
    let output = tokio::task::spawn_blocking(move || example.output()).await.unwrap().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(server.seen(|seen| seen.served.iter().map(String::as_str).eq([
        "/throttled-once",
        "/a",
        "/b"
    ])));
}
