//! A fleet whose messages are lost, late, duplicated or reordered, whose members crash, and whose
//! clocks are wrong.

use std::collections::BTreeSet;

use tidegate::{Decision, Outcome, Rng, Span};

use super::coordinator::Desk;
use super::member::Process;
use super::message::{Grant, Request};
use super::{START, at};
use crate::Input;

const MILLIS: u64 = 1_000_000;
const STEP: u64 = 5 * MILLIS;
const EVENTS: u32 = 40;
/// Calls a second of a member without a known share.
const ALONE: u64 = 2;

/// The faults of the network, as probabilities out of 256.
#[derive(Clone, Copy)]
struct Way {
    lost: u32,
    doubled: u32,
    /// The longest time of a message.
    slowest: Span,
}

const CALM: Way = Way { lost: 0, doubled: 0, slowest: Span::from_millis(60) };

struct Message {
    arrives: u64,
    /// To the member with this number, or to the coordinator.
    to: Option<u64>,
    bytes: Vec<u8>,
}

struct Member {
    process: Process<32>,
    /// How far its clock is behind the true time.
    behind: u64,
    waiting: u16,
    /// The requests that were answered.
    heard: BTreeSet<u32>,
}

/// A coordinator, its members, and the network between them, in true time.
struct Fleet {
    desk: Desk<1024, 16>,
    /// Whether messages reach the coordinator.
    open: bool,
    members: Vec<Member>,
    messages: Vec<Message>,
    way: Way,
    chance: Rng,
}

/// A fleet and a network, followed by events. Then all faults end, and every call is sent in time,
/// regardless of what was lost before.
pub fn try_with(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let calm = input.u8().is_multiple_of(4);
    let (members, seed) = (1 + usize::from(input.u8() % 4), input.u32().into());
    let (rate, burst) = (1 + u64::from(input.u8() % 199), 1 + u32::from(input.u8() % 19));
    let (lost, doubled) = (u32::from(input.u8() % 160), u32::from(input.u8() % 160));
    let slowest = Span::from_millis(u64::from(input.u16() % 3_000));
    let way = if calm { CALM } else { Way { lost, doubled, slowest } };
    let mut fleet = Fleet::new(members, rate, burst, way, seed);
    let mut begun = 0;
    for _ in 0..EVENTS {
        if input.is_empty() {
            break;
        }
        fleet.steps(u64::from(input.u16() % 300));
        let (event, who) = (input.u8() % 17, usize::from(input.u8()) % members);
        match event {
            12 if !calm => fleet.crash(who),
            13 if !calm => fleet.desk.write_down(),
            14 | 15 if !calm => fleet.evict(event == 15, u64::from(input.u16() % 800)),
            16 if !calm => {
                fleet.open = false;
                fleet.steps(u64::from(input.u16() % 3_000));
                fleet.open = true;
            }
            _ => {
                let calls = 1 + u16::from(input.u8() % 59);
                fleet.members[who].waiting += calls;
                begun += u32::from(calls);
            }
        }
    }
    fleet.way = CALM;
    // After faults, also what was granted to others has to end.
    let after = if calm { 4_000 } else { 12_000 + 8_000 / rate };
    fleet.steps(after + fleet.unfinished() * 400 / rate);
    assert_eq!(fleet.unfinished(), 0, "a call is not sent");
    if calm {
        fleet.every_lease_settled_once(begun);
    }
    fleet.desk.keeps_to_its_quota();
}

impl Fleet {
    fn new(members: usize, rate: u64, burst: u32, way: Way, seed: u64) -> Self {
        let mut chance = Rng::new(seed);
        let mut desk = Desk::new(rate, burst, clock(&mut chance));
        desk.write_down();
        let members = (1..=members as u64).map(|number| Member::new(number, START, &mut chance));
        let members = members.collect();
        Self { desk, open: true, members, messages: Vec::new(), way, chance }
    }

    fn luck(&mut self, of_256: u32) -> bool {
        self.chance.next_u32() >> 24 < of_256
    }

    fn send(&mut self, to: Option<u64>, bytes: &[u8]) {
        let copies = if self.luck(self.way.doubled) { 2 } else { 1 };
        for _ in 0..copies {
            if !self.luck(self.way.lost) {
                let takes = self.chance.between(Span::ZERO, self.way.slowest).as_nanos();
                let arrives = self.desk.now + takes;
                self.messages.push(Message { arrives, to, bytes: bytes.to_vec() });
            }
        }
    }

    fn steps(&mut self, count: u64) {
        for _ in 0..count {
            self.step();
        }
    }

    /// Runs everything that happens within the next step.
    fn step(&mut self) {
        self.desk.now += STEP;
        let now = self.desk.now;
        for member in &mut self.members {
            member.process.now = at(now - member.behind);
        }
        let due: Vec<Message> = self.messages.extract_if(.., |m| m.arrives <= now).collect();
        for Message { to, bytes, .. } in due {
            if let Some(number) = to {
                let mut members = self.members.iter_mut();
                // Otherwise the member has crashed.
                if let Some(member) = members.find(|member| member.process.number == number) {
                    member.hear(&bytes);
                }
            } else if self.open
                && let Some(grant) = self.desk.answer(&bytes)
            {
                self.send(Some(Request::read(&bytes).member), &grant);
            }
        }
        for member in 0..self.members.len() {
            if let Some(request) = self.members[member].run() {
                self.send(None, &request);
            }
        }
    }

    /// A process ends with its leases and calls, and another replaces it.
    fn crash(&mut self, who: usize) {
        let number = self.members[who].process.number + 1_000;
        self.members[who] = Member::new(number, self.desk.now, &mut self.chance);
    }

    /// The coordinator stops, and is restored after this many steps: from a record that was written
    /// just before it stopped, or from an older one.
    fn evict(&mut self, moves: bool, steps: u64) {
        if moves {
            self.desk.write_down();
        }
        self.open = false;
        self.steps(steps);
        self.open = true;
        let ahead = clock(&mut self.chance);
        self.desk.restore(moves, ahead);
    }

    fn unfinished(&self) -> u64 {
        let of = |member: &Member| u64::from(member.waiting) + member.process.away.len() as u64;
        self.members.iter().map(of).sum()
    }

    /// Without faults, no member had to work without its coordinator, so each call had a lease.
    fn every_lease_settled_once(&self, begun: u32) {
        let stats = self.desk.controller().stats();
        assert_eq!(self.desk.controller().in_flight(), 0);
        assert_eq!(stats.ok, begun);
        assert_eq!(stats.admitted, stats.ok + stats.abandoned);
        let leased: usize = self.members.iter().map(|member| member.process.leased).sum();
        assert_eq!(leased, begun as usize);
    }
}

impl Member {
    fn new(number: u64, now: u64, chance: &mut Rng) -> Self {
        let behind = clock(chance);
        let process = Process::new(number, ALONE, at(now - behind));
        Self { process, behind, waiting: 0, heard: BTreeSet::new() }
    }

    /// A lease is used once, however often its message arrives.
    fn hear(&mut self, bytes: &[u8]) {
        let Grant { sequence, ahead, .. } = Grant::read(bytes);
        let new = if self.heard.insert(sequence) { ahead.len() } else { 0 };
        assert!(self.process.hear(bytes, new), "a grant is not accepted");
    }

    /// Finishes and begins calls. Returns the request that it sends.
    fn run(&mut self) -> Option<Vec<u8>> {
        let Process { member, now, away, .. } = &mut self.process;
        let back = at(now.as_nanos() - 40 * MILLIS);
        for (_, permit) in away.extract_if(.., |(sent, _)| *sent <= back) {
            member.settle(*now, permit, Outcome::Ok);
        }
        while self.waiting > 0 {
            match self.process.call() {
                Decision::Admit(_) => self.waiting -= 1,
                Decision::Wait(_) | Decision::Full => break,
                Decision::Reject(reason) => panic!("{reason}"),
            }
        }
        self.process.request(self.waiting)
    }
}

/// How far a clock is behind the true time.
fn clock(chance: &mut Rng) -> u64 {
    chance.between(Span::ZERO, Span::from_secs(7_200)).as_nanos()
}
