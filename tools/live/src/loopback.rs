//! Recognises requests that name this machine.

use axum::http::uri::Authority;
use std::net::IpAddr;

/// Whether `authority`, a host with an optional port, is a loopback name or address that no other
/// machine can use.
pub fn is_loopback(authority: &str) -> bool {
    let Ok(authority) = authority.parse::<Authority>() else { return false };
    if authority.as_str().contains('@') {
        return false;
    }
    let host = authority.host().trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Whether this machine served the page of this origin.
pub fn is_origin(origin: &str) -> bool {
    let rest = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    rest.is_some_and(is_loopback)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_names_are_this_machine() {
        for host in
            ["127.0.0.1:8433", "127.0.0.1", "127.1.2.3:1", "localhost:80", "LocalHost", "[::1]:9"]
        {
            assert!(is_loopback(host), "{host}");
            assert!(is_origin(&format!("http://{host}")), "{host}");
        }
        for host in [
            "",
            "example.org",
            "localhost.example.org",
            "127.0.0.1.example.org:80",
            "10.0.0.1",
            "0.0.0.0:80",
            "me@127.0.0.1",
            "127.0.0.1/x",
            "[::2]",
        ] {
            assert!(!is_loopback(host), "{host}");
            assert!(!is_origin(&format!("http://{host}")), "{host}");
        }
        assert!(!is_origin("null"));
        assert!(!is_origin("127.0.0.1:80"));
    }
}
