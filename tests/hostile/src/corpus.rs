//! The fuzz corpus as responses: every header that a search has kept, sent unchanged.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

/// A response: the bytes of its head.
#[derive(Clone, Debug)]
pub struct Response {
    head: Vec<u8>,
}

/// Headers that describe a limit.
const NAMES: [&str; 6] = [
    "Retry-After",
    "RateLimit",
    "RateLimit-Policy",
    "X-RateLimit-Limit",
    "X-RateLimit-Remaining",
    "X-RateLimit-Reset",
];

/// Headers that define the length of the body, which the server sets itself.
const FRAMES: [&str; 4] = ["content-length", "transfer-encoding", "connection", "upgrade"];

/// All responses of the corpus; then each of their headers alone, because an invalid byte hides all
/// others from an HTTP parser; and then each value under known header names.
///
/// # Errors
/// Errors of reading the file.
pub fn responses() -> io::Result<Vec<Response>> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus/http.pack");
    let inputs = tidegate_fuzz::pack::read(&file)?;
    let told: Vec<(u16, Vec<&[u8]>)> = inputs.iter().map(|input| told(input)).collect();
    let lines: BTreeSet<&[u8]> = told.iter().flat_map(|(_, lines)| lines).copied().collect();
    let values: BTreeSet<&[u8]> = lines.iter().filter_map(|line| value(line)).collect();
    let whole = told.iter().map(|(status, lines)| Response::new(*status, lines));
    let alone = lines.iter().map(|line| Response::new(429, &[line]));
    let under = |value: &&[u8]| {
        let named = NAMES.map(|name| [name.as_bytes(), b":", value].concat());
        Response::new(429, &named.each_ref().map(Vec::as_slice))
    };
    Ok(whole.chain(alone).chain(values.iter().map(under)).collect())
}

/// The status and headers of an input of the target `http`.
fn told(input: &[u8]) -> (u16, Vec<&[u8]>) {
    let (status, _, lines) = tidegate_fuzz::http::parts(input);
    // An invalid status would be rejected before its headers are read.
    let status = if (200..600).contains(&status) { status } else { status % 400 + 200 };
    (status, lines.filter(|line| !line.is_empty() && !frames(line)).collect())
}

/// Whether a header defines the end of the response.
fn frames(line: &[u8]) -> bool {
    let name = line.split(|byte| *byte == b':').next().unwrap_or_default().trim_ascii();
    FRAMES.iter().any(|frame| name.eq_ignore_ascii_case(frame.as_bytes()))
}

fn value(line: &[u8]) -> Option<&[u8]> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    line.get(colon + 1..)
}

impl Response {
    fn new(status: u16, lines: &[&[u8]]) -> Self {
        let mut head = format!("HTTP/1.1 {status} X\r\n").into_bytes();
        for line in lines {
            head.extend_from_slice(line);
            head.extend_from_slice(b"\r\n");
        }
        head.extend_from_slice(b"Connection: close\r\nContent-Length: 2\r\n\r\nok");
        Self { head }
    }

    /// Sends it. The connection is not reused.
    pub(crate) async fn send(&self, stream: &mut TcpStream) -> io::Result<()> {
        stream.write_all(&self.head).await?;
        stream.shutdown().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_has_one_head_with_all_its_headers() {
        let (status, lines) =
            told(b"\x01Retry-After: 7\n\nContent-Length: 9\n\xFF\x00: \x80\r\n\r\n");
        let response = Response::new(status, &lines);
        let told = String::from_utf8_lossy(&response.head);
        assert!(told.starts_with("HTTP/1.1 429 X\r\nRetry-After: 7\r\n\u{FFFD}\0: \u{FFFD}\r\r\n"));
        assert!(told.ends_with("Content-Length: 2\r\n\r\nok"));
        assert_eq!(told.matches("\r\n\r\n").count(), 1);
    }

    #[test]
    fn the_corpus_has_thousands_of_responses() {
        assert!(responses().unwrap().len() > 3_000);
    }
}
