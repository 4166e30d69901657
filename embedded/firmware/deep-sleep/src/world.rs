//! The retained state: the throttle's record, and the server that is part of this image.

use board::retained;
use embassy_time::{Duration, Instant};

use crate::Kept;
use crate::server::Server;

/// Marks memory that this image has written.
const MARK: [u8; 8] = *b"tidegate";

pub struct World {
    /// The day that begins after the sleep.
    pub day: u8,
    /// How many calls were throttled at the start of the day.
    pub throttled: u32,
    pub record: Kept,
    /// The time from the reset until the server's bucket is full.
    pub full: Duration,
}

impl World {
    /// Loads the state. `None` after power-on.
    pub fn load() -> Option<Self> {
        let bytes = retained::load();
        let (mark, rest) = bytes.split_first_chunk()?;
        let ([day], rest) = rest.split_first_chunk()?;
        let (throttled, rest) = rest.split_first_chunk()?;
        let (full, rest) = rest.split_first_chunk()?;
        let (record, _) = rest.split_first_chunk()?;
        (*mark == MARK).then_some(Self {
            day: *day,
            throttled: u32::from_le_bytes(*throttled),
            record: *record,
            full: Duration::from_micros(u64::from_le_bytes(*full)),
        })
    }

    pub fn store(&self) {
        let mut bytes = [0; retained::BYTES];
        let parts: [&[u8]; 5] = [
            &MARK,
            &[self.day],
            &self.throttled.to_le_bytes(),
            &self.full.as_micros().to_le_bytes(),
            &self.record,
        ];
        let mut rest = &mut bytes[..];
        for part in parts {
            let (place, behind) = rest.split_at_mut(part.len());
            place.copy_from_slice(part);
            rest = behind;
        }
        retained::store(&bytes);
    }

    /// The server, with times of this machine's clock.
    pub fn server(&self) -> Server {
        Server::full_at(Instant::now() + self.full)
    }
}
