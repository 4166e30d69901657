//! Messages on their way: those that wait, and those that the broker has not acknowledged yet.
//!
//! What waits is bounded, and what does not fit is dropped at the door. What has been queued once is
//! sent until it is acknowledged, a second time where an acknowledgement was lost.

use heapless::{Deque, Vec};
use rust_mqtt::types::PacketIdentifier;
use tidegate::Outcome;
use tidegate_embassy::Permit;

use crate::{FLIGHTS, Gate};

/// So many messages are queued in all.
pub const MESSAGES: u32 = 120;
/// So many wait at most, those in flight included: these may have to wait again.
const PLACES: usize = 32;

/// A message in flight.
struct Flight {
    packet: PacketIdentifier,
    number: u32,
    permit: Permit<'static, Gate>,
}

/// All messages.
pub struct Post {
    waiting: Deque<u32, PLACES>,
    flying: Vec<Flight, FLIGHTS>,
    queued: u32,
    dropped: u32,
    acknowledged: u32,
    again: u32,
}

impl Post {
    /// Nothing yet.
    pub const fn new() -> Self {
        Self {
            waiting: Deque::new(),
            flying: Vec::new(),
            queued: 0,
            dropped: 0,
            acknowledged: 0,
            again: 0,
        }
    }

    /// The sensor has so many messages at once.
    pub fn offer(&mut self, burst: u32) {
        for _ in 0..burst {
            if self.queued < MESSAGES {
                self.queue();
            }
        }
    }

    fn queue(&mut self) {
        let full = self.waiting.len() + self.flying.len() >= PLACES;
        if full || self.waiting.push_back(self.queued + 1).is_err() {
            self.dropped += 1;
        } else {
            self.queued += 1;
        }
    }

    /// The message that has waited longest.
    pub fn next(&self) -> Option<u32> {
        self.waiting.front().copied()
    }

    /// It has been sent in this packet.
    pub fn left(&mut self, packet: PacketIdentifier, permit: Permit<'static, Gate>) {
        if let Some(number) = self.waiting.pop_front()
            && self.flying.push(Flight { packet, number, permit }).is_err()
        {
            defmt::panic!("more messages are in flight than there are permits");
        }
    }

    /// What the broker says of a packet.
    pub fn answered(&mut self, packet: PacketIdentifier, outcome: Outcome) {
        let Some(index) = self.flying.iter().position(|flight| flight.packet == packet) else {
            return;
        };
        let Flight { number, permit, .. } = self.flying.remove(index);
        permit.settle(outcome);
        if outcome == Outcome::Ok {
            self.acknowledged += 1;
            if self.acknowledged.is_multiple_of(20) {
                defmt::info!("mqtt: {=u32} of {=u32} messages", self.acknowledged, MESSAGES);
            }
        } else {
            self.wait_again(number);
        }
    }

    /// The connection is gone, and with it what the broker would have said.
    pub fn lost(&mut self, outcome: Outcome) {
        while let Some(Flight { number, permit, .. }) = self.flying.pop() {
            permit.settle(outcome);
            self.again += 1;
            self.wait_again(number);
        }
    }

    /// Before all others: it is the oldest.
    fn wait_again(&mut self, number: u32) {
        if self.waiting.push_front(number).is_err() {
            defmt::panic!("a message in flight has no place kept for it");
        }
    }

    /// Whether something is in flight.
    pub fn is_flying(&self) -> bool {
        !self.flying.is_empty()
    }

    /// Whether all is acknowledged.
    pub fn is_done(&self) -> bool {
        self.acknowledged == MESSAGES
    }

    /// Tells the log.
    pub fn tell(&self) {
        defmt::info!(
            "mqtt: {=u32} acknowledged, {=u32} dropped at the door, {=u32} sent again without an answer",
            self.acknowledged,
            self.dropped,
            self.again
        );
    }
}
