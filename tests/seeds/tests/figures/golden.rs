//! The committed tables, to the digit.

use similar_asserts::assert_eq;
use tidegate_seeds::{SOURCES, golden};

fn compare(name: &str) {
    let source = SOURCES.into_iter().find(|source| source.name == name).unwrap();
    let committed = golden::read(name).unwrap();
    assert_eq!(
        committed: committed,
        computed: (source.report)().golden(),
        "tests/golden/{name}.txt differs from core. If that is intended, \
         `cargo run --release -p tidegate-seeds -- --write` updates it."
    );
}

#[test]
fn the_table_of_autosleeper_is_up_to_date() {
    compare("autosleeper");
}

#[test]
fn the_table_of_the_emr_scan_is_up_to_date() {
    compare("emr");
}

#[test]
fn the_table_of_the_heroku_client_is_up_to_date() {
    compare("heroku");
}

#[test]
fn the_table_of_the_go_post_is_up_to_date() {
    compare("go");
}

#[test]
fn the_table_of_tchannel_is_up_to_date() {
    compare("tchannel");
}

#[test]
fn the_table_of_the_aws_sdks_is_up_to_date() {
    compare("aws");
}

#[test]
fn every_source_has_a_table_and_a_test() {
    let tested = ["autosleeper", "emr", "heroku", "go", "tchannel", "aws"];
    assert_eq!(SOURCES.map(|source| source.name), tested);
}
