//! Messages, written and read by the documented layout only.

use crate::Input;

/// A message that is written field by field.
pub struct Message(Vec<u8>);

impl Message {
    pub fn new(kind: u8) -> Self {
        Self(vec![1, kind])
    }

    pub fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend(bytes);
        self
    }

    /// Changes up to two bytes and adds a valid checksum.
    pub fn bent(mut self, input: &mut Input<'_>) -> Vec<u8> {
        for _ in 0..input.u8() % 3 {
            let place = usize::from(input.u8()) % self.0.len();
            self.0[place] = input.u8();
        }
        let check = check(&self.0);
        self.0.extend(check.to_le_bytes());
        self.0
    }
}

/// FNV-1a, written from its definition.
fn check(bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .fold(2_166_136_261, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(16_777_619))
}

/// The body of a valid message of this kind, without its checksum.
fn body(message: &[u8], kind: u8) -> &[u8] {
    let (body, told) = message.split_last_chunk::<4>().expect("a message has a check");
    assert_eq!(u32::from_le_bytes(*told), check(body), "its checksum is wrong");
    assert_eq!(body[..2], [1, kind]);
    body
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

pub struct Grant {
    pub sequence: u32,
    pub heartbeat: u64,
    pub cooldown: u64,
    /// The distance of each lease from the grant.
    pub ahead: Vec<i64>,
}

impl Grant {
    pub fn read(message: &[u8]) -> Self {
        let body = body(message, 2);
        assert_eq!(body.len(), 41 + 16 * usize::from(body[40]), "it is longer than it says");
        Self {
            sequence: number(&body[2..6]) as u32,
            heartbeat: number(&body[6..14]),
            cooldown: number(&body[32..40]),
            ahead: body[41..].chunks(16).map(|one| number(&one[8..]).cast_signed()).collect(),
        }
    }
}

pub struct Request {
    pub leaving: bool,
    pub member: u64,
    pub sequence: u32,
    pub want: u16,
}

impl Request {
    pub fn read(message: &[u8]) -> Self {
        let body = body(message, 1);
        let mut reports = &body[20..];
        for _ in 0..body[19] {
            let hints = (reports[17] & 31).count_ones() as usize;
            reports = &reports[18 + 8 * hints..];
        }
        assert_eq!(reports, [], "it is longer than its reports");
        assert!(body[2] <= 1);
        Self {
            leaving: body[2] == 1,
            member: number(&body[3..11]),
            sequence: number(&body[11..15]) as u32,
            want: number(&body[15..17]) as u16,
        }
    }
}
