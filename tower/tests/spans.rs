//! The spans and events of a gate over real calls. A separate program, because the tests of a program share
//! tracing's global state.

mod common;

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use common::{Limit, Server};
use tidegate_tower::local::Share;
use tidegate_tower::tidegate::law::Fixed;
use tidegate_tower::tidegate::{Outcome, Policy, Quota};
use tidegate_tower::{Gate, SendThrough};
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::fmt::format::FmtSpan;

/// Writes what is reported to a new file in a new folder.
fn log(name: &str) -> (PathBuf, DefaultGuard) {
    let folder = std::env::temp_dir().join(format!("tg-{name}-{}", std::process::id()));
    fs::create_dir(&folder).unwrap();
    let log = File::create(folder.join("log")).unwrap();
    let lines = tracing_subscriber::fmt().with_span_events(FmtSpan::CLOSE).with_writer(log);
    (folder, tracing::subscriber::set_default(lines.finish()))
}

/// The lines with this word, without the first ones.
fn reported(folder: &Path, word: &str, skip: usize) -> Vec<String> {
    let log = fs::read_to_string(folder.join("log")).unwrap();
    log.lines().filter(|line| line.contains(word)).skip(skip).map(str::to_owned).collect()
}

#[tokio::test]
async fn each_attempt_has_a_span() {
    let (folder, _local) = log("spans");
    let server = Server::start(Limit::NONE).await;
    let client = reqwest::Client::new();
    let gate = Gate::new(Policy::new(Fixed::UNLIMITED));
    client.get(server.url("/throttled-once")).send_through(&gate).await.unwrap();

    let spans = reported(&folder, "attempt{", 0);
    let key = format!("tidegate.key={:?}", server.address.to_string());
    for (span, fields) in spans.iter().zip([
        format!("attempt{{{key} tidegate.outcome=\"throttled\"}}"),
        format!("attempt{{{key} http.request.resend_count=1 tidegate.outcome=\"ok\"}}"),
    ]) {
        assert!(span.contains(&fields), "{span} is not {fields}");
    }
    assert_eq!(spans.len(), 2);
    fs::remove_dir_all(&folder).unwrap();
}

#[tokio::test]
async fn a_budget_that_cannot_be_shared_is_reported_once() {
    use std::os::unix::fs::PermissionsExt;

    let (logs, _local) = log("warnings");
    let folder = logs.join("shared");
    fs::create_dir(&folder).unwrap();
    let open = fs::Permissions::from_mode(0o755);
    fs::set_permissions(&folder, open).unwrap();
    let hundred = Quota::per_second(100).unwrap();
    let gate = |share: Share| {
        Gate::builder(Policy::new(Fixed::new(hundred))).share(share).unwrap().build()
    };
    let share = Share::new("default").folder(&folder);
    let open = gate(share.clone().alone(hundred));
    for key in ["a", "b", "a", "b"] {
        open.key(key).run(|| async { Outcome::Ok }).await.unwrap();
    }
    let told = reported(&logs, "WARN", 0);
    assert!(matches!(&told[..], [one] if one.contains("is open to others")), "{told:?}");

    // A folder in place of each file that a record needs.
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    let made = gate(share);
    made.key("a").run(|| async { Outcome::Ok }).await.unwrap();
    made.close().await;
    let record = fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    fs::create_dir(record.with_extension(format!("budget.{}.new", std::process::id()))).unwrap();
    for _ in 0..20 {
        made.key("a").run(|| async { Outcome::Ok }).await.unwrap();
    }
    let told = reported(&logs, "WARN", 1);
    assert!(matches!(&told[..], [one] if one.contains("cannot be written")), "{told:?}");
    fs::remove_dir_all(&logs).unwrap();
}
