//! The bounded queue between the sensor and the uplink. A batch that does not fit is dropped. A
//! queued batch stays until it is served.

use core::cell::Cell;

use embassy_sync::blocking_mutex::CriticalSectionMutex;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::channel::Channel;
use embassy_time::Instant;

/// The total number of batches to queue.
pub const BATCHES: u32 = 200;
const PLACES: usize = 32;

#[derive(Clone, Copy)]
pub struct Batch {
    /// Its number among the queued batches, from 1.
    pub number: u32,
    /// Milliseconds since the start.
    pub at: u64,
    /// Hundredths of a degree.
    pub celsius: [i16; 8],
}

impl Batch {
    /// The current measurement. The emulated sensor returns a wave.
    pub fn measured(now: Instant) -> Self {
        let at = now.as_millis();
        let wave = |index: u64| (at / 10 + 40 * index) % 1_000;
        let celsius = core::array::from_fn(|index| 2_000 + wave(index as u64) as i16);
        Self { number: 0, at, celsius }
    }
}

pub struct Queue {
    waiting: Channel<CriticalSectionRawMutex, Batch, PLACES>,
    counts: CriticalSectionMutex<Cell<Counts>>,
}

#[derive(Clone, Copy)]
struct Counts {
    queued: u32,
    dropped: u32,
    delivered: u32,
}

pub static QUEUE: Queue = Queue {
    waiting: Channel::new(),
    counts: CriticalSectionMutex::new(Cell::new(Counts { queued: 0, dropped: 0, delivered: 0 })),
};

impl Queue {
    /// Queues a batch if there is room. Returns whether more are wanted.
    pub fn offer(&self, batch: Batch) -> bool {
        let number = self.counts().queued + 1;
        match self.waiting.try_send(Batch { number, ..batch }) {
            Ok(()) => self.change(|counts| counts.queued += 1),
            Err(_) => self.change(|counts| counts.dropped += 1),
        }
        self.counts().queued < BATCHES
    }

    pub async fn next(&self) -> Batch {
        self.waiting.receive().await
    }

    pub fn delivered(&self) {
        self.change(|counts| counts.delivered += 1);
        if self.count().is_multiple_of(20) {
            defmt::info!("uplink: {=u32} of {=u32} batches", self.count(), BATCHES);
        }
    }

    pub fn count(&self) -> u32 {
        self.counts().delivered
    }

    pub fn dropped(&self) -> u32 {
        self.counts().dropped
    }

    fn counts(&self) -> Counts {
        self.counts.lock(Cell::get)
    }

    fn change(&self, change: impl FnOnce(&mut Counts)) {
        self.counts.lock(|counts| {
            let mut changed = counts.get();
            change(&mut changed);
            counts.set(changed);
        });
    }
}
