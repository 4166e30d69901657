//! The files of the built page. They are read and compressed once, so requests do not read the
//! disk.

use anyhow::{Context, Result, bail};
use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::path::Path;

/// A tag in the page's head that says that a demo serves it.
const MARK: &str = "<meta name=\"tidegate-live\" content=\"on\">";

/// The content security policy. The page may run its own scripts and call servers on this machine.
/// No other site may embed it (clickjacking).
const ALLOWED: &str = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; \
    style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; \
    connect-src 'self' http://127.0.0.1:*; frame-ancestors 'none'";

/// The files by their paths.
pub struct Assets(HashMap<String, Asset>);

struct Asset {
    mime: String,
    plain: Bytes,
    gzip: Bytes,
    /// Its name changes with its content.
    hashed: bool,
}

impl Assets {
    /// Reads all files of a folder.
    pub fn load(folder: &Path) -> Result<Self> {
        let mut assets = Assets(HashMap::new());
        assets.read(folder, "/").with_context(|| format!("the page in {}", folder.display()))?;
        let Some(index) = assets.0.remove("/index.html") else {
            bail!(
                "{} does not contain the page; cargo xtask demo --page builds it",
                folder.display()
            );
        };
        let text =
            String::from_utf8_lossy(&index.plain).replacen("</head>", &format!("{MARK}</head>"), 1);
        assets.0.insert("/".into(), Asset::new("index.html", text.into_bytes(), false)?);
        Ok(assets)
    }

    fn read(&mut self, folder: &Path, at: &str) -> Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{at}{name}");
            if entry.file_type()?.is_dir() {
                self.read(&entry.path(), &format!("{path}/"))?;
            } else {
                let hashed = at.starts_with("/assets/");
                self.0.insert(path, Asset::new(&name, fs::read(entry.path())?, hashed)?);
            }
        }
        Ok(())
    }

    /// Responds to a request for a path.
    pub fn answer(&self, path: &str, head: &HeaderMap) -> Response {
        let path = if path == "/index.html" { "/" } else { path };
        let Some(asset) = self.0.get(path) else {
            return (StatusCode::NOT_FOUND, "file not found\n").into_response();
        };
        let encodings = head.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
        let gzip = encodings.is_some_and(accepts_gzip);
        let keep = if asset.hashed { "public, max-age=31536000, immutable" } else { "no-cache" };
        let known = [
            (header::CONTENT_TYPE, asset.mime.as_str()),
            (header::CACHE_CONTROL, keep),
            (header::VARY, "accept-encoding"),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (header::CONTENT_SECURITY_POLICY, ALLOWED),
        ];
        match gzip {
            true => {
                (known, [(header::CONTENT_ENCODING, "gzip")], asset.gzip.clone()).into_response()
            }
            false => (known, asset.plain.clone()).into_response(),
        }
    }
}

impl Asset {
    fn new(name: &str, plain: Vec<u8>, hashed: bool) -> Result<Self> {
        let mime = mime_guess::from_path(name).first_or_octet_stream();
        let mime = match mime.type_() {
            mime_guess::mime::TEXT => format!("{mime}; charset=utf-8"),
            _ => mime.to_string(),
        };
        let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
        gzip.write_all(&plain)?;
        Ok(Asset { mime, gzip: gzip.finish()?.into(), plain: plain.into(), hashed })
    }
}

/// Whether the client accepts `gzip` and does not exclude it with `q=0`.
fn accepts_gzip(encodings: &str) -> bool {
    encodings.split(',').any(|item| {
        let (name, weight) = item.split_once(';').unwrap_or((item, ""));
        let weight = weight.trim().strip_prefix("q=").and_then(|weight| weight.parse::<f32>().ok());
        name.trim().eq_ignore_ascii_case("gzip") && weight != Some(0.0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_sent_to_clients_that_accept_it() {
        for taken in ["gzip", "gzip, deflate, br, zstd", "br;q=1.0, GZIP;q=0.2"] {
            assert!(accepts_gzip(taken), "{taken}");
        }
        for other in ["", "br", "identity", "gzip;q=0", "x-gzip2"] {
            assert!(!accepts_gzip(other), "{other}");
        }
    }
}
