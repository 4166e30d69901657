//! Waiting messages, and messages that the broker has not acknowledged.
//!
//! The queue is bounded, and messages that do not fit are dropped. A queued message is sent until
//! it is acknowledged, again if an acknowledgement was lost.

use heapless::{Deque, Vec};
use rust_mqtt::types::PacketIdentifier;
use tidegate::Outcome;
use tidegate_embassy::Permit;

use crate::{FLIGHTS, Gate};

/// The total number of messages to queue.
pub const MESSAGES: u32 = 120;
/// The size of the queue, including messages in flight, which may have to wait again.
const PLACES: usize = 32;

struct Flight {
    packet: PacketIdentifier,
    number: u32,
    permit: Permit<'static, Gate>,
}

#[derive(Default)]
pub struct Post {
    waiting: Deque<u32, PLACES>,
    flying: Vec<Flight, FLIGHTS>,
    queued: u32,
    dropped: u32,
    acknowledged: u32,
    again: u32,
}

impl Post {
    /// The sensor has a message, if it has not sent all.
    pub fn offer(&mut self) {
        if self.queued == MESSAGES {
            return;
        }
        let fits = self.waiting.len() + self.flying.len() < PLACES
            && self.waiting.push_back(self.queued + 1).is_ok();
        self.queued += u32::from(fits);
        self.dropped += u32::from(!fits);
    }

    pub fn next(&self) -> Option<u32> {
        self.waiting.front().copied()
    }

    /// Records that it was sent in this packet.
    pub fn left(&mut self, packet: PacketIdentifier, permit: Permit<'static, Gate>) {
        if let Some(number) = self.waiting.pop_front()
            && self.flying.push(Flight { packet, number, permit }).is_err()
        {
            defmt::panic!("more messages are in flight than there are permits");
        }
    }

    /// The connection broke while a message was sent, which the broker may have received. It is sent again.
    pub const fn broken(&mut self) {
        self.again += 1;
    }

    /// Records the broker's answer to a packet.
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

    /// The connection is lost, including pending acknowledgements.
    pub fn lost(&mut self, outcome: Outcome) {
        while let Some(Flight { number, permit, .. }) = self.flying.pop() {
            permit.settle(outcome);
            self.again += 1;
            self.wait_again(number);
        }
    }

    /// Before all others, because it is the oldest.
    fn wait_again(&mut self, number: u32) {
        if self.waiting.push_front(number).is_err() {
            defmt::panic!("no place is reserved for a message in flight");
        }
    }

    pub fn is_done(&self) -> bool {
        self.acknowledged == MESSAGES
    }

    pub fn tell(&self) {
        defmt::info!(
            "mqtt: {=u32} acknowledged, {=u32} dropped, {=u32} sent again without an answer",
            self.acknowledged,
            self.dropped,
            self.again
        );
    }
}
