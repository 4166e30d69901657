//! The page beside the demo over real connections.

mod common;

use common::{Program, answer, end, tidegate_live, until};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::ChildStdout;
use std::sync::atomic::{AtomicU32, Ordering};

/// A small page on disk. Its content does not matter.
fn folder() -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("page-{}-{number}", std::process::id());
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(folder.join("assets")).unwrap();
    let page = "<!doctype html><html><head><title>a page</title></head><body></body></html>";
    fs::write(folder.join("index.html"), page).unwrap();
    fs::write(folder.join("live.html"), page).unwrap();
    fs::write(folder.join("assets/a-1234.js"), "let a = 1;\n".repeat(500)).unwrap();
    fs::write(folder.join("assets/b-1234.wasm"), [0, 97, 115, 109, 1, 0, 0, 0]).unwrap();
    folder
}

struct Shown {
    demo: Program,
    output: BufReader<ChildStdout>,
    page: SocketAddr,
    folder: PathBuf,
}

impl Shown {
    fn start(args: &[&str]) -> Self {
        let folder = folder();
        let place = ["--page-port", "0", "--page-folder", folder.to_str().unwrap()];
        let mut child = tidegate_live(&[&["demo"], args, &place].concat()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while !line.starts_with("the page") {
            line.clear();
            assert!(output.read_line(&mut line).unwrap() > 0, "it prints the page's address");
        }
        let page = line.split(['/', ' ']).rfind(|word| word.contains(':') && word.contains('.'));
        let page = page.expect("an address").parse().unwrap();
        Shown { demo: Program(Some(child)), output, page, folder }
    }

    fn call(&self, path: &str, host: &str, more: &str) -> (String, Vec<u8>) {
        let headers = format!("Host: {host}\r\n{more}");
        let mut answer = answer(self.page, &format!("GET {path}"), &headers);
        let gap = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
        (String::from_utf8(answer[..gap].to_vec()).unwrap(), answer.split_off(gap + 4))
    }

    fn get(&self, path: &str) -> (String, Vec<u8>) {
        self.call(path, &self.page.to_string(), "")
    }

    /// The states in order, up to the last.
    fn moments(&self) -> impl Iterator<Item = Value> + use<> {
        let mut stream = TcpStream::connect(self.page).unwrap();
        write!(stream, "GET /events HTTP/1.1\r\nHost: {}\r\n\r\n", self.page).unwrap();
        let lines = BufReader::new(stream).lines().map_while(Result::ok);
        let data = lines.filter_map(|line| line.strip_prefix("data: ").map(str::to_owned));
        data.take_while(|data| data != "over").map(|data| serde_json::from_str(&data).unwrap())
    }

    fn assert_reports(&mut self) {
        let mut report = String::new();
        self.output.read_to_string(&mut report).unwrap();
        assert!(report.contains("utilisation"), "{report}");
        assert_eq!(end(self.demo.0.take().unwrap()).status.code(), Some(0));
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn files_have_their_types_and_hashed_names_are_cached() {
    let mut shown = Shown::start(&["--page"]);
    let page = shown.page.to_string();
    for (path, mime, keep) in [
        ("/", "text/html; charset=utf-8", "no-cache"),
        ("/live.html", "text/html; charset=utf-8", "no-cache"),
        ("/index.html", "text/html", "no-cache"),
        ("/assets/a-1234.js", "text/javascript", "immutable"),
        ("/assets/b-1234.wasm", "application/wasm", "immutable"),
    ] {
        let (head, _) = shown.get(path);
        assert!(head.starts_with("HTTP/1.1 200"), "{path}: {head}");
        assert!(head.contains(&format!("content-type: {mime}\r\n")), "{path}: {head}");
        let cache = head.lines().find(|line| line.starts_with("cache-control:")).unwrap();
        assert!(cache.contains(keep), "{path}: {cache}");
    }
    let (_, plain) = shown.get("/assets/a-1234.js");
    let (head, packed) = shown.call("/assets/a-1234.js", &page, "Accept-Encoding: br, gzip\r\n");
    assert!(head.contains("content-encoding: gzip\r\n"), "{head}");
    // The length of its first chunk is before it.
    assert!(packed.splitn(2, |byte| *byte == b'\n').nth(1).unwrap().starts_with(&[0x1f, 0x8b]));
    assert!(packed.len() < plain.len() / 10);
    for (path, is_marked) in [("/", false), ("/live.html", true)] {
        let text = String::from_utf8(shown.get(path).1).unwrap();
        let marked = text.contains("<title>a page</title><meta name=\"tidegate-live\"");
        assert_eq!(marked, is_marked, "{path}: {text}");
    }
    assert_eq!(shown.demo.interrupt().status.code(), Some(0), "it exits with success on a signal");
}

#[test]
fn other_files_and_other_host_names_are_rejected() {
    let shown = Shown::start(&["--page"]);
    for path in [
        "/../Cargo.toml",
        "/assets/../../Cargo.toml",
        "/assets/%2e%2e/index.html",
        "/assets",
        "//etc/passwd",
    ] {
        let (head, _) = shown.get(path);
        assert!(head.starts_with("HTTP/1.1 404"), "{path}: {head}");
    }
    for path in ["/", "/api", "/events", "/assets/a-1234.js"] {
        let (head, _) = shown.call(path, "rebound.example.org", "");
        assert!(head.starts_with("HTTP/1.1 403"), "{path}: {head}");
    }
    let (head, _) = shown.call("/", "localhost:8433", "");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
}

#[test]
fn the_page_receives_every_law_every_process_and_the_end() {
    let mut shown = Shown::start(&["--compare", "none,adaptive", "--seconds", "2"]);
    let moments: Vec<Value> = shown.moments().filter(|moment| !moment["run"].is_null()).collect();
    for law in ["none", "adaptive"] {
        let of: Vec<&Value> = moments.iter().filter(|moment| moment["run"]["law"] == law).collect();
        assert!(of.len() >= 4, "{law}: {} moments", of.len());
        let (last, before) = of.split_last().unwrap();
        assert!(before.iter().all(|moment| moment["api"]["url"].is_string()));
        assert!(last["api"].is_null(), "the last state has no API: {last}");
        let processes = last["processes"].as_array().unwrap();
        assert_eq!(processes.len(), 4);
        for part in ["offered", "served", "throttled"] {
            let sum: u64 = processes.iter().map(|row| row[part].as_u64().unwrap()).sum();
            assert_eq!(last["total"][part], sum, "{part}: {last}");
        }
        assert_eq!(last["others"]["offered"], 0);
    }
    shown.assert_reports();
}

#[test]
fn calls_of_the_page_are_counted_separately_from_the_fleet() {
    let shown = Shown::start(&["--law", "adaptive", "--seconds", "30"]);
    let mut api = String::new();
    until("a fleet runs", || {
        let moment: Value = serde_json::from_slice(&shown.get("/api").1).unwrap();
        api = moment["api"]["url"].as_str().unwrap_or_default().to_owned();
        !moment["run"].is_null()
    });
    let address = api.trim_start_matches("http://").trim_end_matches('/');
    answer(address, "GET /", &format!("Host: {address}\r\n"));
    let seen = |moment: &Value| moment["others"]["offered"] == 1;
    assert!(shown.moments().take(50).any(|moment| seen(&moment)));
}

#[test]
fn stalled_readers_do_not_affect_the_demo() {
    let mut shown = Shown::start(&["--law", "adaptive", "--seconds", "3"]);
    let stuck: Vec<TcpStream> = (0..100)
        .map(|number| {
            let mut stream = TcpStream::connect(shown.page).unwrap();
            let request = format!("GET /events HTTP/1.1\r\nHost: {}\r\n", shown.page);
            // Half of them do not even finish their request.
            let rest = if number % 2 == 0 { "\r\n" } else { "" };
            stream.write_all(format!("{request}{rest}").as_bytes()).unwrap();
            stream
        })
        .collect();
    shown.assert_reports();
    drop(stuck);
}

#[test]
fn with_keep_the_api_and_the_page_stay_after_the_run() {
    let mut shown = Shown::start(&["--law", "none", "--seconds", "1", "--keep"]);
    let mut line = String::new();
    while !line.contains("Ctrl-C") {
        line.clear();
        assert!(shown.output.read_line(&mut line).unwrap() > 0);
    }
    let alone = |moment: &Value| moment["run"].is_null() && moment["api"]["url"].is_string();
    assert!(shown.moments().take(50).any(|moment| alone(&moment)));
    assert_eq!(shown.demo.interrupt().status.code(), Some(0));
}
