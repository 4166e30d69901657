//! `core/src/signal/providers.md`: who sends what, and what is read of it, from the responses that the tests read.
//!
//! `BLESS=1 cargo test -p tidegate --test public providers` writes it anew.

use core::fmt::Write as _;

const HEAD: &str = "\
# Providers

What servers send about their limits, and how it is read. The page is generated from the responses in the tests
(`core/tests/public/signal_captures.txt` and `signal_bodies.txt`) by
`BLESS=1 cargo test -p tidegate --test public providers`. A date is that of the source. Responses without a
recording follow the named documentation, and their values are made up.

| response | sends | is read as | source | date |
|---|---|---|---|---|
";

/// The address in a comment.
fn source(comment: &str) -> Option<&str> {
    let address = &comment[comment.find("https://")?..];
    Some(address.split([' ', ';', ',']).next().unwrap_or_default().trim_end_matches([':', '.']))
}

fn row(capture: &str, latest: &mut Option<String>) -> String {
    let (comments, lines): (Vec<_>, Vec<_>) =
        capture.lines().partition(|line| line.starts_with("# "));
    let comment = comments.join(" ").replace("# ", "");
    let told = lines.iter().find(|line| line.contains(" = ")).expect("what is read");
    let (statuses, read) = told.split_once(" = ").expect("what is read");
    let mut sends = vec![statuses.replace(' ', " or ")];
    for line in lines.iter().filter(|line| !line.contains(" = ") || line.starts_with(['{', '['])) {
        let name = line.split(':').next().unwrap_or_default();
        let name =
            if line.starts_with(['{', '[']) { "a body".to_owned() } else { format!("`{name}`") };
        if !name.eq_ignore_ascii_case("`date`") && !sends.contains(&name) {
            sends.push(name);
        }
    }
    let own = source(&comment).map(str::to_owned);
    let said = comment.split(" https://").next().unwrap_or_default();
    let date = comment.rsplit([' ', ';']).next().filter(|last| is_date(last)).unwrap_or_default();
    let said = said.trim_end_matches(date).trim_end_matches(['.', ':', ',', ';', ' ']);
    let is_same = said.starts_with("The same");
    let source = own.or_else(|| latest.take().filter(|_| is_same)).unwrap_or_default();
    *latest = (!source.is_empty()).then(|| source.clone());
    let source = if source.is_empty() { source } else { format!("<{source}>") };
    let sends = sends.join(", ");
    let row = [said, &sends, read, &source, date].map(|cell| cell.replace('|', "\\|"));
    format!("| {} |\n", row.join(" | "))
}

/// `2026-10`
fn is_date(word: &str) -> bool {
    let is_digit = |at: usize, byte: u8| if at == 4 { byte == b'-' } else { byte.is_ascii_digit() };
    word.len() == 7 && word.bytes().enumerate().all(|(at, byte)| is_digit(at, byte))
}

#[test]
fn the_page_of_providers_has_every_response_that_is_tested() {
    let mut page = HEAD.to_owned();
    let mut latest = None;
    for captures in [include_str!("signal_captures.txt"), include_str!("signal_bodies.txt")] {
        for capture in captures.trim_end().split("\n\n") {
            write!(page, "{}", row(capture, &mut latest)).expect("a string grows");
        }
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/signal/providers.md");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, &page).expect("the page can be written");
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert_eq!(written, page, "BLESS=1 cargo test -p tidegate --test public providers");
}
