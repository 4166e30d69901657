//! The protocol on a local socket: each side sends a greeting, then frames. See
//! `core/docs/local.md`.

use super::LocalError;
use super::standing::Told;

/// The greeting: a name and the version of the protocol.
pub(super) const GREETING: [u8; 9] = *b"tidegate\x01";
const NAME: usize = 8;

/// The largest body, in bytes.
const MOST_BODY: usize = 4_096;

/// The kinds of answers. A policy follows the holder's greeting.
pub(super) const GRANT: u16 = 0;
pub(super) const TROUBLE: u16 = 1;
pub(super) const POLICY: u16 = 2;

const HEAD: usize = 8;

/// A frame: a request with its key, or an answer with its kind; and the bytes for `core`.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Frame {
    pub(super) id: u32,
    /// For answers the kind, for requests the length of the key.
    pub(super) kind: u16,
    pub(super) key: Vec<u8>,
    pub(super) body: Vec<u8>,
}

/// Encodes a request for a key.
pub(super) fn request(id: u32, key: &str, body: &[u8]) -> Result<Vec<u8>, LocalError> {
    let length = u16::try_from(key.len()).map_err(|_| LocalError::key(key.len()))?;
    Ok(frame(id, length, key.as_bytes(), body))
}

/// Whether a request is a member's last one, for now.
pub(super) fn leaves(request: &[u8]) -> bool {
    request.get(2) == Some(&1)
}

/// Encodes an answer.
pub(super) fn answer(id: u32, kind: u16, body: &[u8]) -> Vec<u8> {
    frame(id, kind, &[], &body[..body.len().min(MOST_BODY)])
}

/// The number of a frame with a policy: the holder's, or one that replaces it.
pub(super) const NO_REQUEST: u32 = 0;

/// Encodes a policy.
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
    let mut bytes = Vec::with_capacity(HEAD + key.len() + body.len());
    bytes.extend(id.to_le_bytes());
    bytes.extend(second.to_le_bytes());
    bytes.extend(length.to_le_bytes());
    bytes.extend(key);
    bytes.extend(body);
    bytes
}

/// Decodes the other side's bytes, in pieces of any size.
#[derive(Debug)]
pub(super) struct Frames {
    /// Whether frames contain keys, as requests do.
    keyed: bool,
    greeted: bool,
    bytes: Vec<u8>,
}

impl Frames {
    pub(super) const fn new(keyed: bool) -> Self {
        Self { keyed, greeted: false, bytes: Vec::new() }
    }

    /// Whether the other side has stated this version of the protocol.
    pub(super) const fn is_greeted(&self) -> bool {
        self.greeted
    }

    /// Returns the frames that these bytes complete. Fails if the other side has another version or
    /// is not tidegate.
    pub(super) fn read(&mut self, more: &[u8]) -> Result<Vec<Frame>, LocalError> {
        self.bytes.extend(more);
        let mut frames = Vec::new();
        if !self.greeted {
            greeted(&self.bytes)?;
            if self.bytes.len() < GREETING.len() {
                return Ok(frames);
            }
            self.bytes.drain(..GREETING.len());
            self.greeted = true;
        }
        let mut from = 0;
        while let Some((head, rest)) = self.bytes[from..].split_first_chunk::<HEAD>() {
            let [a, b, c, d, e, f, g, h] = *head;
            let (id, kind) = (u32::from_le_bytes([a, b, c, d]), u16::from_le_bytes([e, f]));
            let length = usize::from(u16::from_le_bytes([g, h]));
            let named = if self.keyed { usize::from(kind) } else { 0 };
            if length > MOST_BODY {
                return Err(LocalError::too_long(length));
            }
            let Some((key, rest)) = rest.split_at_checked(named) else { break };
            let Some((body, _)) = rest.split_at_checked(length) else { break };
            frames.push(Frame { id, kind, key: key.to_vec(), body: body.to_vec() });
            from += HEAD + named + length;
        }
        self.bytes.drain(..from);
        Ok(frames)
    }
}

/// Fails if this is not the start of a greeting.
fn greeted(bytes: &[u8]) -> Result<(), LocalError> {
    let wrong = bytes.iter().zip(GREETING).position(|(byte, own)| *byte != own);
    match wrong {
        None => Ok(()),
        Some(NAME) => Err(LocalError::version(bytes[NAME], GREETING[NAME])),
        Some(_) => Err(LocalError::stranger()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_in_pieces_of_any_size() -> Result<(), LocalError> {
        let mut bytes = GREETING.to_vec();
        bytes.extend(request(7, "api", b"hello")?);
        bytes.extend(request(8, "", b"")?);
        for size in 1..bytes.len() {
            let mut frames = Frames::new(true);
            let mut read = Vec::new();
            for piece in bytes.chunks(size) {
                read.extend(frames.read(piece)?);
            }
            let first = Frame { id: 7, kind: 3, key: b"api".into(), body: b"hello".into() };
            assert_eq!(read, [first, Frame { id: 8, kind: 0, key: vec![], body: vec![] }]);
        }
        Ok(())
    }

    #[test]
    fn another_version_and_another_program_are_distinguished() {
        for (bytes, named) in [
            (&b"tidegate\x07"[..], "speaks version 7 of the local protocol"),
            (b"HTTP/1.1", "another program than tidegate"),
            (b"tidegate\x01\0\0\0\0\0\0\xff\xff", "65535 bytes"),
        ] {
            let error = Frames::new(false).read(bytes).err().map(|error| error.to_string());
            assert!(error.is_some_and(|error| error.contains(named)), "{named}");
        }
    }
}
