//! The protocol on a local socket: each side sends a greeting, then frames. See
//! `core/docs/local.md`.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};

use super::LocalError;
use super::standing::Told;

/// The greeting: a name and the version of the protocol.
pub(super) const GREETING: [u8; 9] = *b"tidegate\x01";
const NAME: usize = 8;

pub(super) const STRANGER: &str =
    "another program than tidegate uses the socket: choose another name";

/// The largest body, in bytes.
const MOST_BODY: usize = 4_096;

/// The kinds of answers. A policy follows the holder's greeting.
pub(super) const GRANT: u16 = 0;
pub(super) const TROUBLE: u16 = 1;
pub(super) const POLICY: u16 = 2;

/// The number of a frame with a policy: the holder's, or one that replaces it.
pub(super) const NO_REQUEST: u32 = 0;

/// A frame: a request with its key, or an answer with its kind; and the bytes for `core`.
pub(super) struct Frame {
    pub(super) id: u32,
    /// For answers the kind, for requests the length of the key.
    pub(super) kind: u16,
    pub(super) key: Vec<u8>,
    pub(super) body: Vec<u8>,
}

pub(super) fn request(id: u32, key: &str, body: &[u8]) -> Result<Vec<u8>, LocalError> {
    let length = u16::try_from(key.len()).map_err(|_| {
        let length = key.len();
        LocalError::new(format!("a key of {length} bytes cannot be shared: the limit is 65535"))
    })?;
    Ok(frame(id, length, key.as_bytes(), body))
}

/// Whether a request is a member's last one, for now.
pub(super) fn leaves(request: &[u8]) -> bool {
    request.get(2) == Some(&1)
}

pub(super) fn answer(id: u32, kind: u16, body: &[u8]) -> Vec<u8> {
    frame(id, kind, &[], &body[..body.len().min(MOST_BODY)])
}

pub(super) fn policy(Told { since, digest, text }: &Told) -> Vec<u8> {
    [&since.to_le_bytes()[..], &digest.to_le_bytes(), text.as_bytes()].concat()
}

/// The inverse of `policy`. `None` if these bytes are none.
pub(super) fn told(body: &[u8]) -> Option<Told> {
    let (since, rest) = body.split_first_chunk()?;
    let (digest, text) = rest.split_first_chunk()?;
    let text = String::from_utf8_lossy(text).into_owned();
    Some(Told { since: u64::from_le_bytes(*since), digest: u32::from_le_bytes(*digest), text })
}

fn frame(id: u32, second: u16, key: &[u8], body: &[u8]) -> Vec<u8> {
    let length = u16::try_from(body.len()).unwrap_or(u16::MAX);
    let head = [&id.to_le_bytes()[..], &second.to_le_bytes(), &length.to_le_bytes()];
    [&head.concat()[..], key, body].concat()
}

/// Reads the other side's greeting. Fails at the first byte that shows another version or another program.
pub(super) async fn greeted(from: &mut (impl AsyncRead + Unpin)) -> Result<(), Why> {
    for (at, own) in GREETING.into_iter().enumerate() {
        let byte = from.read_u8().await?;
        if byte != own {
            let what = match at {
                NAME => format!(
                    "the other process speaks version {byte} of the local protocol, and this one version {own}: \
                     update the older tidegate"
                ),
                _ => STRANGER.to_owned(),
            };
            return Err(LocalError::new(what).into());
        }
    }
    Ok(())
}

/// Reads a frame: with a key if it is a request.
pub(super) async fn read(
    from: &mut (impl AsyncRead + Unpin),
    is_request: bool,
) -> Result<Frame, Why> {
    let (id, kind) = (from.read_u32_le().await?, from.read_u16_le().await?);
    let length = usize::from(from.read_u16_le().await?);
    if length > MOST_BODY {
        let what = format!("a message of {length} bytes exceeds the limit of {MOST_BODY}");
        return Err(LocalError::new(what).into());
    }
    let mut key = vec![0; if is_request { kind.into() } else { 0 }];
    from.read_exact(&mut key).await?;
    let mut body = vec![0; length];
    from.read_exact(&mut body).await?;
    Ok(Frame { id, kind, key, body })
}

/// Why a connection ended before the answer.
#[derive(Clone, Debug)]
pub(super) enum Why {
    /// The process has ended.
    Ended,
    /// The process is alive and does not answer.
    Silent,
    /// It uses another protocol, or reported an error.
    Trouble(LocalError),
}

impl From<io::Error> for Why {
    fn from(_: io::Error) -> Self {
        Self::Ended
    }
}

impl From<LocalError> for Why {
    fn from(error: LocalError) -> Self {
        Self::Trouble(error)
    }
}
